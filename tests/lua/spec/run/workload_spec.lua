local artifacts = require "llmprof.bundle.artifacts"
local bundle = require "tests.lua.support.bundle"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local workload = require "llmprof.run.workload"

describe("llmprof.run.workload", function()
  local top = bundle.scratch(before_each, after_each)

  local function new_run()
    return artifacts.create { out = top() .. "/run", recipe = "r" }
  end

  describe("describe", function()
    local cfg = { workload = { timeout_s = 90 }, run = {}, n = 3 }

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
      workload = {} }
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

  describe("metrics.json", function()
    local readers = {
      metrics = function(run) return workload.metrics(run, "workload") end,
      operators = function(run) return workload.operators(run:path "workload/operators.json") end,
    }

    -- What reading these contents gives; the file is called FILE in messages.
    local function read(contents, what)
      local run = new_run()
      if contents then run:write(("workload/%s.json"):format(what or "metrics"), contents) end
      local value, message = readers[what or "metrics"](run)
      assert(fs.remove_tree(run.dir))
      return value, message and message:gsub("^.*%.json", "FILE")
    end

    local function complaint(...)
      local value, message = read(...)
      assert.is_nil(value)
      return message
    end

    it("is taken without what is null", function()
      assert.same({ model = { name = "m" }, batch = 1,
        repeats = { { stages = { decode = { ms = 2, steps_ms = { 1, 1.5 } }, sam = {} } } } },
        read [[{ "model": { "name": "m", "variant": null }, "batch": 1, "repeats": [ { "stages":
          { "decode": { "ms": 2, "tokens": null, "steps_ms": [1, 1.5] }, "sam": { "ms": null }
          } } ] }]])
      assert.is_nil(read '{ "repeats": [{ "stages": { "decode": { "steps_ms": null } } }] }'
        .repeats[1].stages.decode.steps_ms)
    end)

    it("may not be there", function()
      assert.same({ n = 2 }, table.pack(read()))
    end)

    it("names the key that is wrong", function()
      assert.matches("^FILE:1:2: ", complaint "{")
      assert.equal("FILE: metrics: table expected, got 5", complaint "5")
      assert.equal("FILE: metrics: table expected, got null", complaint "null")
      assert.equal("FILE: metrics: table expected, got false", complaint "false")
      assert.equal("FILE: repeats: table expected, got nothing", complaint "{}")
      assert.equal("FILE: repeats: table expected, got nothing", complaint '{"repeats":null}')
      assert.equal("FILE: repeats[1]: table expected, got 5", complaint '{"repeats":[5]}')
      assert.equal("FILE: repeats[2].stages: table expected, got nothing",
        complaint '{"repeats":[{"stages":{}},{}]}')
      local function stage(text)
        return complaint(('{"repeats":[{"stages":{"decode":%s,"zoo":7}}]}'):format(text))
      end
      local at = "FILE: repeats[1].stages.decode"
      assert.equal(at .. ": table expected, got 5", stage "5")
      assert.equal(at .. ".ms: number expected, got fast", stage '{"ms":"fast"}')
      assert.equal(at .. ".tokens: number expected, got true", stage '{"tokens":true}')
      assert.equal(at .. ".steps_ms: table expected, got 3", stage '{"steps_ms":3}')
      assert.equal(at .. ".steps_ms[2]: number expected, got null", stage '{"steps_ms":[1,null]}')
      assert.equal("FILE: repeats[1].stages.zoo: table expected, got 7", stage "{}")
    end)

    it("names the key that is wrong beside the repeats", function()
      local function beside(text) return complaint(('{"repeats":[],%s}'):format(text)) end
      assert.equal("FILE: top level.model: table expected, got 3", beside '"model":3')
      assert.equal("FILE: model.name: string expected, got a list or an object",
        beside '"model":{"name":["m"]}')
      assert.equal("FILE: top level.environment: table expected, got x",
        beside '"environment":"x"')
      assert.equal("FILE: top level.batch: number expected, got a list or an object",
        beside '"batch":[]')
    end)

    it("holds for operators likewise", function()
      assert.same({ operators = { { name = "aten::mm", calls = 2, host_self_ns = 5 } } },
        read('{"operators":[{"name":"aten::mm","calls":2,"host_self_ns":5,"device_self_ns":null}]}',
          "operators"))
      assert.equal("FILE: operators: table expected, got nothing", complaint("{}", "operators"))
      assert.equal("FILE: operators[1].name: string expected, got nothing",
        complaint('{"operators":[{"calls":1}]}', "operators"))
      assert.equal("FILE: operators[1].host_self_ns: number expected, got x",
        complaint('{"operators":[{"name":"a","calls":1,"host_self_ns":"x"}]}', "operators"))
      assert.equal("FILE: top level.source: string expected, got 1",
        complaint('{"operators":[],"source":1}', "operators"))
      assert.equal("FILE: No such file or directory", complaint(nil, "operators"))
    end)
  end)
end)
