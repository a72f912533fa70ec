local yaml = require "llmprof.yaml"


describe("llmprof.yaml", function()
  it("decodes a configuration", function()
    local got = assert(yaml.decode [[
# preset
name: deepseek_ocr
infer: &infer
  max_new_tokens: 64
  temperature: 0.0
deep:
  <<: *infer
  temperature: 1.5
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
      deep = { max_new_tokens = 64, temperature = 1.5 },
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

  it("reads an empty document as null", function()
    assert.equal(yaml.null, yaml.decode "")
    assert.equal(yaml.null, yaml.decode "# nothing\n")
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

  it("keeps infinity and NaN", function()
    assert.equal("- .inf\n- -.inf\n- .nan\n", yaml.encode { math.huge, -math.huge, 0 / 0 })
    local got = yaml.decode "[.inf, -.inf, .nan]"
    assert.equal(math.huge, got[1])
    assert.equal(-math.huge, got[2])
    assert.is_true(got[3] ~= got[3])
  end)

  it("names the place of a mistake", function()
    local function fails(text, options)
      local value, message, code = yaml.decode(text, options)
      assert.is_nil(value)
      return message, code
    end
    assert.equal("yaml:2:1: duplicate key \"a\"", (fails "a: 1\na: 2\n"))
    assert.equal("conf/a.yaml:2:1: a tab cannot indent; use spaces",
      (fails("a:\n\tb: 1\n", { name = "conf/a.yaml" })))
    local message, code = fails "a: !x 1"
    assert.equal("yaml:1:4: unknown tag \"!x\"", message)
    assert.equal("unsupported", code)
    message, code = fails "--- 1\n--- 2\n"
    assert.equal("yaml:2:1: a second document starts here", message)
    assert.equal("unsupported", code)
    message, code = fails("[&a [1, 2], *a]", { max_nodes = 5 })
    assert.equal("yaml:1:13: more than 5 values", message)
    assert.equal("limit", code)
    message, code = fails "9223372036854775808"
    assert.equal("yaml:1:1: integer does not fit into 64 bits", message)
    assert.equal("range", code)
  end)

  it("says what is wrong with a file", function()
    local value, message, code = yaml.load "/proc/none.yaml"
    assert.is_nil(value)
    assert.equal("/proc/none.yaml: No such file or directory", message)
    assert.equal("notfound", code)
  end)

  it("loads a file", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write "a: [1, 2]\n"
    file:close()
    assert.same({ a = { 1, 2 } }, yaml.load(path))
    os.remove(path)
  end)

  it("refuses what is no tree, with the path", function()
    local ok, message = pcall(yaml.encode, { a = { b = print } })
    assert.is_false(ok)
    assert.equal("cannot encode a function at a.b", message)
    assert.equal("YAML takes only UTF-8: string at [1]", select(2, yaml.encode { "\xff" }))
    assert.has_error(function() yaml.encode() end,
      "bad argument #1 to 'encode' (value expected)")
  end)

  it("gives back what it wrote", function()
    local value = { a = { "x: y", "- z", "", "~", "1e5", " s ", "a\n b\n", "\r", "é\u{1F600}" },
      b = { c = { { { d = 1 } } } }, ["key: with\nall"] = -1 }
    assert.same(value, yaml.decode(yaml.encode(value)))
  end)
end)
