local bundle = require "tests.lua.support.bundle"
local config = require "llmprof.recipe.config"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"

local options = {
  ["infer.batch"] = { "Samples side by side", 1, min = 1, max = 8 },
  ["infer.scale"] = { "A number", 0.5 },
  ["infer.names"] = { "A list", { "a", "b" } },
  ["infer.on"] = { "A switch", false },
  ["infer.text"] = { "Text", "x" },
  ["infer.kind"] = { "One of two", "left", choices = { "left", "right" } },
  ["infer.seed"] = { "No default", type = "integer" },
  ["infer.most"] = { "Only an upper limit", 1, max = 9 },
}

local function compose(words, fields)
  local given = { options = options, recipe_name = "r.lua",
    words = words or {} }
  for key, value in pairs(fields or {}) do given[key] = value end
  return config.compose(given)
end

-- Value and origin of a key.
local function value(composed, key)
  return { composed.values[key], composed.origins[key] }
end

local function refusal(...)
  return failure(compose, ...)
end


describe("llmprof.config layers", function()
  local top = bundle.scratch(before_each, after_each)

  local function yaml_file(contents)
    assert(fs.write(top() .. "/c.yaml", contents))
    return top() .. "/c.yaml"
  end

  it("begins with defaults, built-in and the recipe's", function()
    local composed = compose()
    assert.same({ "auto", "default" }, value(composed, "capture"))
    assert.same({ 1, "r.lua" }, value(composed, "infer.batch"))
    assert.same({ nil, "r.lua" }, value(composed, "infer.seed"))
    assert.equal(0.5, composed.tree.infer.scale)
    assert.same({ "a", "b" }, composed.tree.infer.names)
  end)

  it("asks the recipe which model it is, for keys that nothing else sets", function()
    local function identify(cfg)
      return { name = cfg.infer.kind, dtype = "bf16", arch = "a.yaml" }
    end
    local composed = compose({ "infer.kind=right", "model.arch=b.yaml" }, { identify = identify,
      recipe = { model = { dtype = "fp16" } } })
    assert.same({ "right", "r.lua" }, value(composed, "model.name"))
    assert.same({ "right", "fp16", "b.yaml" }, { composed.tree.model.name,
      composed.tree.model.dtype, composed.tree.model.arch })
    assert.same({ "usage", "identify: no key 'model.nam' (did you mean 'model.name'?)",
      "--print-config lists every key" },
      refusal({}, { identify = function() return { nam = "x" } end }))
    assert.same({ "usage", "identify: a table is expected, got string" },
      refusal({}, { identify = function() return "x" end }))
  end)

  it("lets a value stand for another key's when it fits that one", function()
    local with = { options = { ["infer.max_new_tokens"] = { "Tokens", 64, min = 2 } } }
    assert.equal(4, compose({ "ncu.max_new_tokens=4" }, with).values["ncu.max_new_tokens"])
    assert.same({ "usage", "command line: run.representative_max_new_tokens: 1 is not 2 or more" },
      refusal({ "run.representative_max_new_tokens=1" }, with))
    assert.same({ "usage", "command line: ncu.max_new_tokens: this recipe has no "
      .. "infer.max_new_tokens", "~ncu.max_new_tokens removes it" },
      refusal { "ncu.max_new_tokens=4" })
  end)

  it("puts presets under the recipe, a mode over it, then file and command line", function()
    local file = yaml_file "ncu: { budget_s: 7 }\ntop_n: { kernels: 4 }\ninfer: { text: file }\n"
    local composed = compose({ "infer.text=line" }, { file = file,
      recipe = { top_n = { kernels = 3, coverage = 0.5 }, nsys = { trace = { "cuda" } } } })
    assert.same({ { "cuda" }, "r.lua" }, value(composed, "nsys.trace"))
    assert.same({ 0.5, "r.lua" }, value(composed, "top_n.coverage"))
    assert.same({ 4, file }, value(composed, "top_n.kernels"))
    assert.same({ 7, file }, value(composed, "ncu.budget_s"))
    assert.same({ "line", "command line" }, value(composed, "infer.text"))
    assert.same({ "none", "conf/nsys/default.yaml" }, value(composed, "nsys.sample"))
  end)

  it("takes the preset that the last layer names", function()
    local named = { recipe = { nsys = { preset = "light" }, ncu = "deep" } }
    assert.same({ "light", "r.lua" }, value(compose({}, named), "nsys.preset"))
    assert.same({ "deep", "r.lua" }, value(compose({}, named), "ncu.preset"))
    assert.same({ "deep", "command line" }, value(compose({ "nsys=deep" }, named), "nsys.preset"))
    assert.same({ "deep", "command line" },
      value(compose({ "nsys.preset=deep" }, named), "nsys.preset"))
    assert.equal("conf/nsys/deep.yaml", compose { "nsys=deep" }.origins["nsys.trace"])
  end)

  it("lets a mode choose presets", function()
    local composed = compose { "mode=deep" }
    assert.same({ "deep", "conf/mode/deep.yaml" }, value(composed, "nsys.preset"))
    assert.same({ "deep", "conf/mode/deep.yaml" }, value(composed, "ncu.preset"))
    assert.same({ "light", "command line" }, value(compose { "mode=deep", "ncu=light" },
      "ncu.preset"))
    assert.same({ "usage", "no mode preset 'depp' (did you mean 'deep'?)",
      "there are: deep, default, light" }, refusal { "mode=depp" })
  end)

  it("takes null for no value", function()
    assert.same({ nil, "command line" }, value(compose { "infer.batch=null" }, "infer.batch"))
    local file = yaml_file "infer: { text: null }\n"
    assert.same({ nil, file }, value(compose({}, { file = file }), "infer.text"))
    assert.same({ "null", "command line" }, value(compose { "infer.text=null" }, "infer.text"))
  end)

  it("refuses files that are no configuration", function()
    local function file_refusal(contents)
      local kind, message = table.unpack(refusal({}, { file = yaml_file(contents) }))
      assert.equal("usage", kind)
      return (message:gsub("^.*/c%.yaml", "c.yaml"))
    end
    assert.equal("c.yaml: a table of keys is expected", file_refusal "hello\n")
    assert.equal("c.yaml: a table of keys is expected", file_refusal "7\n")
    assert.equal("c.yaml: a table of keys is expected", file_refusal "- a\n")
    assert.equal("c.yaml: no key 'infer.bach' (did you mean 'infer.batch'?)",
      file_refusal "infer: { bach: 2 }\n")
    assert.equal("c.yaml: infer.batch: a whole number is expected, not 'two'",
      file_refusal "infer: { batch: two }\n")
    assert.equal("c.yaml: infer.batch: a whole number is expected, not a table",
      file_refusal "infer: { batch: { a: 1 } }\n")
    assert.equal("c.yaml: mode: text is expected, not '5'", file_refusal "mode: 5\n")
    assert.equal("c.yaml: nsys.preset: text is expected, not '5'",
      file_refusal "nsys: { preset: 5 }\n")
    assert.is_nil(compose({}, { file = yaml_file "" }).values["infer.seed"])
    assert.matches("^c.yaml:3:1: expected a value", file_refusal "a: 1\nb: [\n")
    assert.same({ "usage", "none.yaml: no such file, nor is it built in" },
      refusal({}, { file = "none.yaml" }))
  end)
end)


describe("llmprof.config command line", function()
  it("reads values by the declared type", function()
    local composed = compose { "infer.batch=8", "infer.scale=2", "infer.on=true", "infer.text=5",
      "infer.names=[x,y z]", "infer.kind=right", "infer.seed=9007199254740992" }
    assert.same({ batch = 8, scale = 2, on = true, text = "5", names = { "x", "y z" },
      kind = "right", seed = 9007199254740992, most = 1 }, composed.tree.infer)
    assert.equal("integer", math.type(composed.tree.infer.seed))
    assert.same({ "x=y" }, { compose { "infer.text=x=y" }.values["infer.text"] })
    assert.equal("", compose { "infer.text=" }.values["infer.text"])
    assert.same({}, compose { "infer.names=[]" }.values["infer.names"])
  end)

  it("refuses values of another type", function()
    local at = "command line: infer."
    assert.same({ "usage", at .. "batch: a whole number is expected, not '1.5'" },
      refusal { "infer.batch=1.5" })
    assert.same({ "usage", at .. "batch: 9 is not between 1 and 8" }, refusal { "infer.batch=9" })
    assert.same({ "usage", at .. "most: 10 is not 9 or less" }, refusal { "infer.most=10" })
    assert.same({ "usage", "command line: top_n.kernels: 0 is not 1 or more" },
      refusal { "top_n.kernels=0" })
    assert.same({ "usage", at .. "scale: a number is expected, not 'many'" },
      refusal { "infer.scale=many" })
    assert.same({ "usage", at .. "scale: a number is expected, not 'inf'" },
      refusal { "infer.scale=.inf" })
    assert.same({ "usage", at .. "on: true or false is expected, not '1'" },
      refusal { "infer.on=1" })
    assert.same({ "usage", at .. "names: a list: [a,b] is expected, not 'a'" },
      refusal { "infer.names=a" })
    assert.same({ "usage", at .. "kind: 'rihgt' is not one of left, right "
      .. "(did you mean 'right'?)" }, refusal { "infer.kind=rihgt" })
    assert.same({ "usage", "infer.seed:1:1: integer does not fit into 64 bits" },
      refusal { "infer.seed=12345678901234567890" })
  end)

  it("suggests the nearest key", function()
    assert.same({ "usage", "command line: no key 'batch' (did you mean 'infer.batch'?)",
      "--print-config lists every key; +batch=value adds one" }, refusal { "batch=2" })
    assert.same({ "usage", "command line: no key 'quite.unlike.anything'",
      "--print-config lists every key; +quite.unlike.anything=value adds one" },
      refusal { "quite.unlike.anything=2" })
  end)

  it("adds keys with +", function()
    local composed = compose { "+infer.new=3", "+other=[a]" }
    assert.same({ 3, "command line" }, value(composed, "infer.new"))
    assert.same({ "a" }, composed.tree.other)
    assert.equal(2, compose { "+infer.batch=2" }.tree.infer.batch)
    assert.same({ "usage", "command line: 'infer' is a group of keys" }, refusal { "+infer=1" })
    assert.same({ "usage", "command line: 'infer.batch' is a value and holds no keys: "
      .. "+infer.batch.x" }, refusal { "+infer.batch.x=1" })
  end)

  it("removes values with ~", function()
    assert.same({ nil, "command line" }, value(compose { "~infer.batch" }, "infer.batch"))
    local plain = compose {}.values
    for _, words in ipairs { { "mode=deep", "~mode" }, { "mode=deep", "mode=null" },
      { "nsys=light", "~nsys" } } do
      assert.same(plain, compose(words).values, words[2])
    end
    assert.equal("deep", compose { "~mode", "mode=deep" }.values["ncu.preset"])
    assert.same({ "usage", "command line: no key 'infer.batc' (did you mean 'infer.batch'?)",
      "--print-config lists every key; +infer.batc=value adds one" }, refusal { "~infer.batc" })
  end)

  it("refuses words that are no setting", function()
    for _, word in ipairs { "infer.batch", "=1", "a b=1", "~", "~a=1" } do
      assert.same({ "usage", ("'%s' is no setting"):format(word),
        "write key=value, +key=value or ~key" }, refusal { word })
    end
  end)
end)


describe("llmprof.config recipes", function()
  it("checks what a recipe sets", function()
    assert.same({ "usage", "r.lua: no key 'nsys.smaple' (did you mean 'nsys.sample'?)",
      "--print-config lists every key" },
      refusal({}, { recipe = { nsys = { smaple = "none" } } }))
    assert.same({ "usage", "r.lua: a table of keys is expected" },
      refusal({}, { recipe = { nsys = { "light" } } }))
    assert.same({ "usage", "r.lua: no key 'nsys.5'",
      "--print-config lists every key" },
      refusal({}, { recipe = { nsys = { [5] = 1, trace = { "cuda" } } } }))
    assert.matches("^r.lua: report: 'stagse' is not one of all, advice, .* %(did you mean "
      .. "'stages'%?%)$", refusal({}, { recipe = { report = { "stagse" } } })[2])
  end)

  it("keeps a recipe from changing the type of llmprof's own keys", function()
    assert.same({ "usage", "recipe option 'python' is a key of llmprof's own, of type string" },
      refusal({}, { options = { python = { "Snakes", 3 } } }))
    assert.equal("python3.12", compose({}, { options = { python = { "It", "python3.12" } } })
      .tree.python)
  end)
end)


describe("llmprof.config.to_yaml", function()
  it("shows every value and where it came from", function()
    local text = config.to_yaml(compose({ "infer.batch=2", "mode=light" }, { recipe = {
      model = { name = "M: 1" } } }))
    local lines = {}
    for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
    local function has(line) assert.is_truthy(text:find(line .. "\n", 1, true), line) end
    assert.equal("capture: auto                                    # default", lines[1])
    has "infer:\n  batch: 2                                       # command line"
    has '  names: [a, b]                                  # r.lua'
    has "  seed: null                                     # r.lua"
    has "  name: 'M: 1'                                   # r.lua"
    has "  preset: light                                  # conf/mode/light.yaml"
  end)
end)
