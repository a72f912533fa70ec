-- llmprof new: what it writes runs as it stands, and overwrites nothing.
local bundle = require "tests.lua.support.bundle"
local child = require "tests.lua.support.child"
local document = require "llmprof.io.document"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local recipe = require "llmprof.recipe"
local recipe_check = require "llmprof.cli.commands.check"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

local PYTHON = spawn.which "python3"


describe("llmprof new", function()
  local top = bundle.scratch(before_each, after_each)
  local llmprof = child.caller(top)

  -- Make NAME of a kind in the test's folder; the path of its recipe.
  local function make(kind, name)
    local path = top() .. "/" .. name .. ".lua"
    assert.equal(0, (llmprof("new", "--from", kind, path)))
    return path
  end

  -- { code, lines } of the workload of a recipe made of a kind.
  local function run_workload(kind, words, env)
    make(kind, "mine")
    local lines = {}
    local argv = table.move(words, 1, #words, 3, { PYTHON, top() .. "/workloads/run_mine.py" })
    local result = assert(spawn.run(argv, { env = env, timeout = 60,
      on_line = function(line) lines[#lines + 1] = line end }))
    return { result.code, lines }
  end

  for kind, program in pairs { causal_lm = "run_mine.py", diffusion = "run_mine.py",
    encoder = "run_mine.py", serve = "run_mine.py", cuda = "mine.cu" } do
    it("writes a recipe without problems from " .. kind, function()
      local path = make(kind, "mine")
      assert.is_not_nil(fs.stat(top() .. "/workloads/" .. program))
      for _, check in ipairs(recipe_check.examine(path, nil, {})) do
        assert.not_equal("problem", check.level, check.text)
      end
      for _, name in ipairs { "mine.lua", "workloads/" .. program } do
        assert.is_nil(fs.read(top() .. "/" .. name):find("@NAME@", 1, true))
      end
    end)
  end

  it("writes a recipe of the stages of a trace", function()
    local path, trace = top() .. "/mine.lua", "tests/fixtures/tiny_h200/run.sqlite"
    local given = { env = { XDG_CACHE_HOME = top() .. "/cache" }, timeout = 60,
      stdout = top() .. "/said" }
    local result = assert(spawn.run({ sys.executable(), "new", path, "--from", trace }, given))
    assert.equal(0, result.code)
    local made = recipe.load(path)
    assert.same({ { name = "prefill" }, { name = "decode" } }, made.stages)
    assert.equal("mine", made.name)
    local code, _, complaints = llmprof("new", path, "--from", "causal_ml")
    assert.same({ 2, "llmprof: --from: 'causal_ml' is no kind and no trace "
      .. "(did you mean 'causal_lm'?)" }, { code, complaints:match "^[^\n]*" })
  end)

  it("overwrites neither of its files", function()
    local path = make("causal_lm", "mine")
    local said = "llmprof: %s is there already\n  choose another name, or remove it first\n"
    assert.same({ 2, "", said:format(path) }, { llmprof("new", path) })
    assert(fs.remove(path))
    assert.same({ 2, "", said:format(top() .. "/workloads/run_mine.py") }, { llmprof("new", path) })
    assert.is_nil(fs.stat(path))
  end)

  it("refuses what cannot name a recipe", function()
    for _, name in ipairs { "", "a b", "x/" } do
      local code, _, err = llmprof("new", name)
      assert.equal(2, code)
      assert.matches("cannot name a recipe\n", err)
    end
    assert.equal(2, (llmprof "new"))
    assert.equal(2, (llmprof("new", "a", "--from", "other")))
  end)

  it("offers every template that there is", function()
    local choices
    for _, option in ipairs(require("llmprof.cli.commands.new").options) do
      if option[1] == "from" then
        choices = table.move(option.values(), 1, #option.values(), 2, { "trace" })
      end
    end
    table.sort(choices)
    assert.same(files.names("recipes/templates", ".lua"), choices)
  end)

  it("makes the folder, and says what to do next", function()
    local code, out = llmprof("new", "--from=cuda", top() .. "/sub/mine")
    assert.equal(0, code)
    assert.equal(([[
TOP/mine.lua
TOP/workloads/mine.cu
next:
  nvcc -O2 -arch=native -o TOP/workloads/mine TOP/workloads/mine.cu
  llmprof check TOP/mine.lua
  llmprof TOP/mine.lua --dry-run
]]):gsub("TOP", top() .. "/sub"), out)
  end)

  if not PYTHON then return end

  it("has a workload that says that PyTorch is missing", function()
    assert(fs.write(top() .. "/torch.py", "raise ImportError('not here')\n"))
    assert.same({ 3,
      { "mine: PyTorch is missing: python=PATH names a Python that has it" } },
      run_workload("causal_lm", {}, { PYTHONPATH = top() }))
  end)

  it("has a load that a server answers", function()
    assert.same({ 0, {} }, run_workload("serve",
      { "--requests", "2", "--max-new-tokens", "5" }, { LLMPROF_WORKLOAD_DIR = top() }))
    local metrics = assert(json.load(top() .. "/metrics.json"))
    assert.is_nil(document.check("metrics", metrics))
    assert.same({ 2, 4, 4 }, { #metrics.repeats, metrics.repeats[2].stages.decode.tokens,
      metrics.repeats[2].stages.decode.steps })
  end)

  it("has a load that says which server does not start", function()
    assert.same({ 3, { "mine: /no/such/server: No such file or directory" } },
      run_workload("serve", { "--", "/no/such/server" }))
  end)

  it("has a load that says that its server ended", function()
    assert.same({ 1, { "mine: the server ended with 0 before it was ready" } },
      run_workload("serve", { "--", "true" }))
  end)
end)
