local yaml = require "llmprof.yaml"


describe("llmprof.yaml", function()
  it("decodes a configuration", function()
    local got = assert(yaml.decode [[
# preset
name: deepseek_ocr
infer: &infer
  max_new_tokens: 64
  temperature: 0.0
deep: *infer
trace: [cuda, nvtx]
empty: []
none: {}
on: yes
path: ~
text: |
  two
  lines
]])
    assert.same({
      name = "deepseek_ocr",
      infer = { max_new_tokens = 64, temperature = 0.0 },
      deep = { max_new_tokens = 64, temperature = 0.0 },
      trace = { "cuda", "nvtx" },
      empty = {},
      none = {},
      on = "yes",
      path = yaml.null,
      text = "two\nlines\n",
    }, got)
    assert.equal("integer", math.type(got.infer.max_new_tokens))
    assert.equal("float", math.type(got.infer.temperature))
    assert.equal("[]\n", yaml.encode(got.empty))
    assert.equal("{}\n", yaml.encode(got.none))
  end)

  it("encodes in block style", function()
    local value = yaml.ordered({
      name = "x",
      list = { 1, { a = true, b = { "y" } }, { { 2 } } },
      empty = yaml.list {},
      map = {},
      text = "two\nlines\n",
      version = "1.0",
      one = 1.0,
      null = yaml.null,
    }, { "name", "version" })
    assert.equal([[
name: x
version: '1.0'
empty: []
list:
- 1
- a: true
  b:
  - 'y'
- - - 2
map: {}
'null': null
one: 1.0
text: |
  two
  lines
]], yaml.encode(value))
  end)

  it("encodes in one line, to stand behind a key", function()
    assert.equal("[1, 'a, b', {text: \"two\\nlines\\n\"}, []]",
      yaml.encode_line { 1, "a, b", { text = "two\nlines\n" }, yaml.list {} })
    assert.equal("'1.0'", yaml.encode_line "1.0")
    assert.equal("null", yaml.encode_line(yaml.null))
    assert.equal("YAML takes only UTF-8: string at top level", select(2, yaml.encode_line "\xff"))
  end)

  it("loads a file", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write "a: [1, 2]\n"
    file:close()
    assert.same({ a = { 1, 2 } }, yaml.load(path))
    os.remove(path)
  end)
end)
