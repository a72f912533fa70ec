local artifacts = require "llmprof.bundle.artifacts"
local bundle = require "tests.lua.support.bundle"
local config = require "llmprof.recipe.config"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local workload = require "llmprof.run.workload"

describe("llmprof.run.workload", function()
  local top = bundle.scratch(before_each, after_each)

  local function new_run()
    return artifacts.create { out = top() .. "/run", recipe = "r" }
  end

  describe("describe", function()
    local cfg = { workload = { timeout_s = 90 }, run = {}, n = 3, launch = { ranks = 1 } }

    local function describe_argv(answer, run)
      return workload.describe({ workload = function() return answer end }, cfg, run)
    end

    it("writes numbers and booleans out", function()
      assert.same({ argv = { "prog", "3", "0.5", "true", "" }, env = { A = "1", B = false,
        C = "x" }, cwd = "/", timeout = 90 },
        describe_argv { argv = { "prog", 3, 0.5, true, "" }, env = { A = 1, B = false, C = "x" },
          cwd = "/" })
    end)

    it("refuses what is no command", function()
      local form = "workload: the recipe must return { argv = { program, ... } }"
      for _, answer in ipairs { 5, {}, { argv = "prog" }, { argv = {} } } do
        assert.same({ "usage", form }, failure(describe_argv, answer))
      end
      assert.same({ "usage", form }, failure(describe_argv))
      assert.same({ "usage", "workload: argv holds a table; strings and numbers are expected" },
        failure(describe_argv, { argv = { "prog", {} } }))
      assert.same({ "usage", "workload: argv[2], after 'prog', is nil",
        "a configuration key without a value? --print-config shows them" },
        failure(describe_argv, { argv = { "prog", nil, "x" } }))
    end)

    it("leaves files that are on disk where they are", function()
      local run = new_run()
      assert.equal("recipes/workloads/causal_lm.py",
        describe_argv({ argv = { "recipes/workloads/causal_lm.py" } }, run).argv[1])
      assert.same({}, fs.list(run:path "workload"))
    end)
  end)

  it("generates fewer tokens where one stands for many", function()
    local cfg = { infer = { max_new_tokens = 64, batch = 2 }, run = {}, python = "py",
      workload = {}, launch = { ranks = 1 } }
    local made = { workload = function(seen)
      return { argv = { seen.python, seen.infer.max_new_tokens, seen.infer.batch } }
    end }
    assert.same({ "py", "64", "2" }, workload.describe(made, cfg).argv)
    cfg.run.representative_max_new_tokens = 4
    assert.same({ "py", "4", "2" }, workload.describe(made, cfg).argv)
    assert.same({ "py", "3", "2" },
      workload.describe(made, cfg, nil, { ["infer.max_new_tokens"] = 3 }).argv)
    assert.same({ "py", "4", "1" },
      workload.describe(made, cfg, nil, { ["infer.batch"] = 1 }).argv)
    assert.equal(64, cfg.infer.max_new_tokens)
  end)

  it("shows the recipe a plain table, with the mode and the run's folder", function()
    local seen, lines = nil, {}
    local made = { workload = function(cfg)
      seen = cfg
      return { argv = { "prog", "hydra.run.dir=" .. cfg.run.dir .. "/hydra" } }
    end }
    local cfg = config.compose { words = { "python=py" } }.tree
    local run = new_run()
    assert.equal("hydra.run.dir=<run>/hydra", workload.describe(made, cfg).argv[2])
    assert.equal("hydra.run.dir=" .. fs.realpath(run.dir) .. "/hydra",
      workload.describe(made, cfg, run, { ["ncu.budget_s"] = 5 }).argv[2])
    for key in pairs(seen) do lines[key] = true end
    assert.same({ true, true, true }, { lines.python, lines.ncu, lines.mode })
    assert.same({ "default", "py", 5 }, { seen.mode, seen.python, seen.ncu.budget_s })
    seen.ncu.budget_s = 6
    assert.equal(120, cfg.ncu.budget_s)
  end)

  it("says how a process ended", function()
    assert.is_nil(workload.complaint { ok = true, code = 0 })
    assert.equal("it ended with exit status 3", workload.complaint { code = 3 })
    assert.equal("it was killed by SIGSEGV", workload.complaint { signal = "SIGSEGV" })
    assert.equal("it ran past its time limit and was ended",
      workload.complaint { timed_out = true, signal = "SIGTERM" })
  end)

  it("keeps the last lines of an output", function()
    assert.equal("b\nc", workload.tail({ "a", "b", "c" }, 2))
    assert.equal("a", workload.tail { "a" })
    assert.equal("", workload.tail {})
  end)
end)
