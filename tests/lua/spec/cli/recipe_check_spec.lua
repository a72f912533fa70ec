-- What llmprof check finds wrong with a recipe.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local recipe_check = require "llmprof.cli.commands.check"

describe("recipe_check", function()
  local top = bundle.scratch(before_each, after_each)

  -- The checks of a recipe with these fields (Lua source), by name.
  local function examine(fields, words, file)
    local path = top() .. "/r.lua"
    assert(fs.write(path,
      ('return require("llmprof.recipe").recipe { name = "r", %s }'):format(fields)))
    local named = {}
    for _, check in ipairs(recipe_check.examine(path, file, words or {})) do
      named[check.name] = check
    end
    return named
  end

  local function workload(argv, more)
    return ("workload = function() return { argv = { %s }, %s } end"):format(argv, more or "")
  end

  -- Level and text of each check by that name.
  local function every(name, fields, words)
    examine(fields, words)
    local list = {}
    for _, check in ipairs(recipe_check.examine(top() .. "/r.lua", nil, words or {})) do
      if check.name == name then list[#list + 1] = check.level .. ": " .. check.text end
    end
    return list
  end

  -- Level, text and fix of the check of the workload with this argv.
  local function check_workload(argv, more)
    local check = examine(workload(argv, more)).workload
    return { check.level, check.text, check.fix }
  end

  it("finds nothing wrong with a recipe in order", function()
    local checks = examine(workload '"true"'
      .. ', stages = { { "prefill", children = { "sam" } } }, advise = function() end,'
      .. 'categories = { { category = "moe", match = { "moe" } } }')
    for name, text in pairs { recipe = "r: hooks advise", stages = "prefill, sam",
      config = "nsys=default, ncu=default, mode default", categories = "1 rule of its own",
      capture = "capture=auto" } do
      assert.same({ "ok", text }, { checks[name].level, checks[name].text })
    end
    assert.same({ "ok", "warning" }, { checks.workload.level, checks.model.level })
  end)

  it("takes a hook for the model's description", function()
    local model = examine(workload '"true"' .. ", flops = function() end").model
    assert.same({ "ok", "the recipe's flops()" }, { model.level, model.text })
  end)

  it("looks at settings of llmprof's own where the recipe cannot be read", function()
    assert.same({ "problem: command line: top_n.kernels: a whole number is expected, not 'x'",
      "problem: command line: no key 'top_n.kernls' (did you mean 'top_n.kernels'?)" },
      every("config", workload '"true"' .. ", advise = 1",
        { "top_n.kernels=x", "top_n.kernls=1", "tokens.own=3" }))
  end)

  it("says what is wrong with the recipe itself, and nothing more", function()
    local checks = examine(workload '"true"' .. ", advise = 1")
    assert.same({ "problem", top() .. "/r.lua:1: recipe field 'advise': function expected, "
      .. "got number" }, { checks.recipe.level, checks.recipe.text })
    assert.is_nil(checks.config)
    assert.equal("problem", recipe_check.examine(top() .. "/none.lua", nil, {})[1].level)
  end)

  it("says what is wrong with a file of values", function()
    assert.matches("no such file",
      examine(workload '"true"', {}, top() .. "/none.yaml").config.text)
  end)

  it("looks for the program", function()
    assert.same({ "problem", "no program 'no-such-program' on PATH",
      "install it, or name it by its path" }, check_workload '"no-such-program"')
    assert.same({ "problem", "./none: no such program", "build it, or correct the path" },
      check_workload '"./none"')
    local path = top() .. "/prog"
    assert(fs.write(path .. ".cu", ""))
    assert.same({ "warning", path .. " is not compiled yet",
      ("nvcc -O2 %s.cu -o %s"):format(path, path) }, check_workload(("%q"):format(path)))
    assert(fs.write(path, ""))
    assert.same({ "problem", path .. ": not executable", "chmod +x, or name its interpreter" },
      check_workload(("%q"):format(path)))
  end)

  it("looks for the files among its words, where it will run", function()
    assert.same({ "problem", "none.py: no such file", "write it, or correct the path" },
      check_workload '"true", "none.py"')
    assert.same({ "warning", "/none/weights is not there", "does the program make it?" },
      check_workload '"true", "--from", "/none/weights"')
    assert(fs.write(top() .. "/here.py", ""))
    assert.equal("ok", check_workload('"true", "here.py"', ("cwd = %q"):format(top()))[1])
    assert.same({ "problem", "cwd: /none/dir: no such folder", "correct the path" },
      check_workload('"true"', 'cwd = "/none/dir"'))
    assert.equal("ok", check_workload('"true", "recipes/workloads/causal_lm.py"')[1])
  end)

  it("says all that is wrong at once", function()
    local at = "problem: " .. top() .. "/r.lua"
    assert.same({ at .. ":1: recipe field 'advise': function expected, got number",
      at .. ":1: a recipe has no field 'nsy' (did you mean 'nsys'?)",
      at .. ": a recipe needs the field 'workload'",
      at .. ":1: option 'b': { \"text\", default } is expected",
      at .. ":1: stage 's' is declared twice" },
      every("recipe", 'advise = 1, nsy = {}, options = { b = 1 }, stages = { "s", "s" }'))
    assert.same({ "problem: 'infer' is no setting", "problem: no nsys preset 'lite'",
      "problem: command line: no key 'infer.tokens'",
      "problem: command line: top_n.kernels: 0 is not 1 or more" },
      every("config", workload '"true"', { "infer", "nsys=lite", "infer.tokens=1",
        "top_n.kernels=0" }))
    assert.same({ "problem: no program 'no-such-program' on PATH",
      "problem: none.py: no such file", "warning: /none/weights is not there" },
      every("workload", workload '"no-such-program", "none.py", "/none/weights"',
        { "infer.tokens=1" }))
  end)

  it("holds ranges and domains that settings name against the stages", function()
    local stages = ', stages = { "prefill", { "LLM@decode_all", step = "step" } }'
    local function doubts(...) return every("stages", workload '"true"' .. stages, { ... }) end
    assert.same({ "ok: prefill, LLM:decode_all" }, doubts("ncu.nvtx_include=[prefill/,step/]",
      "nsys.capture_range=nvtx", "nsys.nvtx_capture=measured"))
    assert.same({ "warning: ncu.nvtx_include: 'prefil/' is no range of a stage (did you mean "
      .. "'prefill/'?)", "warning: ncu.nvtx_include: 'decode*' is in another domain than the stage "
      .. "'LLM:decode_all' (did you mean 'LLM@decode_all/'?)",
      "warning: ncu.nvtx_include: 'warm' is no range of a stage" },
      doubts "ncu.nvtx_include=[prefil/,decode*,warm]")
    assert.same({ "ok: prefill, LLM:decode_all" },
      doubts("ncu.nvtx_include=[prefil/]", "counters=off"))
    assert.same({ "warning: nsys.nvtx_capture: 'decode_all' is in another domain than the stage "
      .. "'LLM:decode_all' (did you mean 'decode_all@LLM'?)" },
      doubts("nsys.capture_range=nvtx", "nsys.nvtx_capture=decode_all"))
    assert.same({ "warning: nsys.nvtx_domain_include leaves out the domain of the stage "
      .. "'prefill'" },
      doubts "nsys.nvtx_domain_include=[LLM]")
    assert.same({ "warning: nsys.nvtx_domain_exclude leaves out the domain of the stage "
      .. "'LLM:decode_all'" }, doubts "nsys.nvtx_domain_exclude=[LLM]")
  end)

  it("shows an error of the workload function with its line", function()
    assert.matches("r%.lua:1: attempt to index a nil value",
      examine("workload = function(cfg) return cfg.nothing.at_all end").workload.text)
  end)

  it("says once what several checks run into", function()
    local checks = examine [[workload = function()
      require("llmprof.recipe").fail("model.path is not set", "model.path=DIR")
    end]]
    assert.same({ "problem", "model.path is not set", "model.path=DIR" },
      { checks.workload.level, checks.workload.text, checks.workload.fix })
    assert.is_nil(checks.capture)
  end)

  it("looks at capture, categories, model and GPU", function()
    local argv = workload '"true"'
    assert.matches("no recorded capture in recipes/recorded/r",
      examine(argv, { "capture=recorded" }).capture.text)
    assert.matches("nsys.capture_range=nvtx needs nsys.nvtx_capture",
      examine(argv, { "nsys.capture_range=nvtx" }).capture.text)
    assert.matches("pattern '%[': ", examine(argv
      .. ', categories = { { category = "x", match = { "[" } } }').categories.text)
    assert.equal("problem", examine(argv, { "model.arch=none" }).model.level)
    assert.equal("problem", examine(argv, { "hardware.name=none" }).hardware.level)
    assert.equal("ok", examine(argv, { "hardware.name=h200" }).hardware.level)
  end)
end)
