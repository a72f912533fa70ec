local bundle = require "tests.lua.support.bundle"
local errors = require "llmprof.process.errors"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local recipe = require "llmprof.recipe"

local function workload() return { argv = { "true" } } end

-- A recipe with some fields besides the needed ones.
local function declare(fields)
  local given = { name = "r", workload = workload }
  for key, value in pairs(fields or {}) do given[key] = value end
  return recipe.recipe(given)
end

local function refusal(fields)
  local kind, message = table.unpack(failure(declare, fields))
  assert.equal("usage", kind)
  return message
end


describe("llmprof.recipe declarations", function()
  it("keep what was declared", function()
    local hook = function() end
    local made = declare { model = { name = "M" }, top_n = { kernels = 3 }, flops = hook,
      options = { ["a.b"] = { "Text", 1 } }, mode = "light" }
    assert.equal("r", made.name)
    assert.equal(hook, made.flops)
    assert.same({ ["a.b"] = { "Text", 1 } }, made.options)
    assert.same({ model = { name = "M" }, top_n = { kernels = 3 }, mode = "light" }, made.config)
  end)

  it("need a name and a workload", function()
    assert.same({ "usage", "recipe { ... } takes a table" }, failure(recipe.recipe))
    assert.same({ "usage", "a recipe needs the field 'name'" },
      failure(recipe.recipe, { workload = workload }))
    assert.same({ "usage", "a recipe needs the field 'workload'" },
      failure(recipe.recipe, { name = "r" }))
    assert.equal("recipe name 'a/b': letters, digits, '_', '.' and '-' only",
      refusal { name = "a/b" })
    assert.equal("recipe name '': letters, digits, '_', '.' and '-' only", refusal { name = "" })
  end)

  it("are checked field by field", function()
    assert.equal("a recipe has no field 'stage' (did you mean 'stages'?)", refusal { stage = {} })
    assert.equal("a recipe has no field '1'", refusal { "x" })
    for field, wrong in pairs { name = 5, model = "x", options = "x", workload = {}, stages = "x",
      categories = 1, nsys = "light", top_n = 3, report = "x", repeats = 1, mode = {},
      capture = true, select_kernels = {}, flops = 1, advise = "x", render = {},
      identify = {} } do
      assert.matches(("^recipe field '%s': %%a+ expected, got %s$"):format(field, type(wrong)),
        refusal { [field] = wrong })
    end
  end)

  it("list stages, parents before children", function()
    assert.same({ { name = "a", step = "a_step" }, { name = "b", parent = "a" },
      { name = "c", parent = "a" }, { name = "d" } },
      declare { stages = { { "a", children = { "b", "c" }, step = "a_step" }, "d" } }.stages)
    assert.same({}, declare().stages)
  end)

  it("refuse broken stages", function()
    local form = 'a stage is { "name", children = { "name", ... }, step = "name" }'
    assert.equal(form, refusal { stages = { {} } })
    assert.equal(form, refusal { stages = { "" } })
    assert.equal(form, refusal { stages = { { "a", children = { 5 } } } })
    assert.equal("stage 'a' is declared twice", refusal { stages = { "a", "a" } })
    assert.equal("stage 'a' is declared twice", refusal { stages = { { "a", step = "a" } } })
    assert.equal("stage 'a' has no field 'child'; " .. form,
      refusal { stages = { { "a", child = { "b" } } } })
    assert.equal(form, refusal { stages = { { "a", children = "b" } } })
  end)

  it("refuse broken options", function()
    local form = ": { \"text\", default } is expected"
    assert.equal("option 'a'" .. form, refusal { options = { a = "text" } })
    assert.equal("option 'a'" .. form, refusal { options = { a = { 1, 2 } } })
    assert.equal("option 'a'" .. form, refusal { options = { a = { "text" } } })
    assert.equal("option '2a': a key like infer.max_new_tokens is expected",
      refusal { options = { ["2a"] = { "text", 1 } } })
    assert.equal("option '1': a key like infer.max_new_tokens is expected",
      refusal { options = { { "text", 1 } } })
    assert.equal("option 'a' has no field 'minn' (did you mean 'min'?)",
      refusal { options = { a = { "text", 1, minn = 1 } } })
    assert.same({ a = { "text", type = "string" } },
      declare { options = { a = { "text", type = "string" } } }.options)
  end)
end)


describe("llmprof.recipe.load", function()
  local top = bundle.scratch(before_each, after_each)

  -- What loading a recipe of these lines raises: kind, message and detail with
  -- the file called r.lua.
  local function load_error(source)
    local path = top() .. "/r.lua"
    assert(fs.write(path, source))
    local ok, err = pcall(recipe.load, path)
    assert.is_false(ok)
    local plain = path:gsub("%p", "%%%0")
    return { err.kind, (err.message:gsub(plain, "r.lua")),
      err.detail and err.detail:gsub(plain, "r.lua"):match "^[^\n]+" }, err
  end

  it("gives the recipe and where it came from", function()
    local path = top() .. "/r.lua"
    local source = 'local llm = require "llmprof.recipe"\nreturn llm.recipe { name = "r", '
      .. 'workload = function() return { argv = { llm.path "run.py" } } end }\n'
    assert(fs.write(path, source))
    local made = recipe.load(path)
    assert.same({ "r", path, source }, { made.name, made.file, made.source })
  end)

  it("finds files beside the recipe", function()
    assert(fs.write(top() .. "/run.py", ""))
    assert(fs.write(top() .. "/r.lua", [[local llm = require "llmprof.recipe"
      local there, not_there = llm.path "run.py", llm.path "none.py"
      return llm.recipe { name = "r", options = { a = { there, not_there } },
        workload = function() end }]]))
    assert.same({ top() .. "/run.py", top() .. "/none.py" },
      recipe.load(top() .. "/r.lua").options.a)
  end)

  it("takes one that ships where a path leads nowhere, and says so", function()
    for word, said in pairs {
      ["recipes/toy_llm.lua"] = false, ["toy_llm"] = false,
      ["toy_llm.lua"] = "there is no file toy_llm.lua: this is the recipe 'toy_llm' that ships "
        .. "with llmprof",
    } do
      local made = recipe.load(word)
      assert.same({ "toy_llm", "recipes/toy_llm.lua" }, { made.name, made.file })
      assert.equal(said or nil, made.note)
    end
    assert.same({ nil, "recipes/toy_llm.lua" }, { recipe.load("recipes/toy_llm.lua").called,
      recipe.load("recipes/toy_llm.lua").path })
    assert.same({ "toy_llm", nil }, { recipe.load("toy_llm").called, recipe.load("toy_llm").path })
  end)

  it("knows names by heart", function()
    assert.same({ "usage", "no recipe 'toy_lm' (did you mean 'toy_llm'?)" },
      { table.unpack(failure(recipe.load, "toy_lm"), 1, 2) })
    assert.same({ "usage", "toy_lm.lua: no such file, nor is it built in (did you mean "
      .. "'toy_llm.lua'?)" }, { table.unpack(failure(recipe.load, "toy_lm.lua"), 1, 2) })
  end)

  it("reports what is declared wrong with its line", function()
    assert.same({ "usage", "r.lua:4: a recipe has no field 'stagse' (did you mean 'stages'?)" },
      (load_error [[-- stagse in a comment
return require "llmprof.recipe".recipe {
  name = "r", workload = function() end,
  stagse = {},
}]]))
    -- not in the line of a word that it is part of
    assert.same({ "usage", "r.lua:6: a recipe has no field 'stage' (did you mean 'stages'?)" },
      (load_error [[
local name = "stage"
return require "llmprof.recipe".recipe {
  name = "r", workload = function(stage) return stage end,
  stages = { "stage" },
  flops = function() local stage = 1; return stage end,
  stage = {},
}]]))
    assert.same({ "usage", "r.lua:5: stage 'a' is declared twice" }, (load_error [[
return require "llmprof.recipe".recipe { name = "a", workload = function() end,
  stages = { "a",
    { "b", children = {
      "c",
      "a" } } } }]]))
    assert.same({ "usage", "r.lua:3: option 'x': { \"text\", default } is expected" }, (load_error [[
return require "llmprof.recipe".recipe { name = "x", workload = function() end, -- x
  options = { ["infer.x"] = { "Text", 1 },
    ["x"] = 5 } }]]))
    assert.same({ "usage", "r.lua: a recipe needs the field 'name'" },
      (load_error "return require 'llmprof.recipe'.recipe { workload = print }"))
  end)
end)


describe("llmprof.recipe.call", function()
  it("passes arguments and results", function()
    assert.same({ n = 3, 2, nil, 1 },
      table.pack(recipe.call("hook", function(a, b) return b, nil, a end, 1, 2)))
  end)

  it("says whose error it was", function()
    local ok, err = pcall(recipe.call, "advise", function() error("no", 0) end)
    assert.is_false(ok)
    assert.same({ "usage", "advise: no" }, { err.kind, err.message })
    assert.matches("^stack traceback:", err.detail)
  end)

  it("lets llmprof's own errors and interruptions pass", function()
    assert.same({ "tool", "m", "h" }, failure(recipe.call, "hook", errors.raise, "tool", "m",
      { hint = "h" }))
    assert.same({ "usage", "no model" }, failure(recipe.call, "hook", recipe.fail, "no model"))
    assert.same({ "interrupted", "m" },
      failure(recipe.call, "hook", errors.raise, "interrupted", "m"))
    for _, message in ipairs { "interrupted", "the download was interrupted" } do
      assert.same({ "usage", "hook: " .. message }, failure(recipe.call, "hook", error, message, 0))
    end
  end)
end)
