-- What capture=auto comes to: the collector or nsys, and why.
local automatic = require "llmprof.run.capture.automatic"
local bundle = require "tests.lua.support.bundle"
local captures = require "llmprof.run.capture"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local gpu = require "llmprof.gpu"
local sys = require "llmprof.sys"

local PROGRAM = sys.executable():match "^(.*)/[^/]*$" .. "/../tests/c/make_spool"

describe("capture=auto", function()
  local top = bundle.scratch(before_each, after_each)
  local list, sample = gpu.list, gpu.sample

  before_each(function()
    gpu.list = function() return { { index = 0, name = "NVIDIA H200" } } end
    gpu.sample = function() return nil, "lost" end
    assert(fs.write(top() .. "/library.so", ""))
  end)
  after_each(function() gpu.list, gpu.sample = list, sample end)

  -- changes: groups of keys.
  local function cfg(changes)
    local made = { capture = "auto", counters = { by = "on" }, timeline = "on",
      launch = { ranks = 1 }, collector = { yield = "off", samples_hz = 0 },
      tools = { collector = top() .. "/library.so" }, ncu = { replay_mode = "kernel" },
      nsys = { trace = { "cuda", "nvtx", "osrt" }, sample = "none", cuda_graph_trace = "node" } }
    for group, keys in pairs(changes or {}) do
      if type(keys) ~= "table" then made[group] = keys end
      for key, value in pairs(type(keys) == "table" and keys or {}) do
        made[group] = made[group] or {}
        made[group][key] = value
      end
    end
    return made
  end

  it("is the collector where it can take what is asked for", function()
    assert.is_nil(captures.declined(cfg()))
    assert.equal(captures.sources.builtin(), captures.of(cfg()))
    assert.equal(captures.sources.builtin(), captures.of(cfg { counters = { by = "builtin" } }))
  end)

  it("is nsys, and says why", function()
    local ours = { "the collector does not support nsys.trace",
      captures.declined(cfg { nsys = { trace = { "cuda", "mpi" } } }) }
    assert.equal(ours[1], ours[2])
    assert.equal(captures.sources.nsys(), captures.of(cfg { nsys = { sample = "process-tree" } }))
    for _, changes in ipairs { { tools = { nsys = "/opt/nsys" } },
      { nsys = { gpu_metrics = "on" } },
      { nsys = { extra_args = { "--stats=true" } } }, { ncu = { set = "full" } },
      { nsys = { capture_range_end = "repeat:3" } }, { server = { session = "one" } } } do
      assert.matches("^the collector does not support ", captures.declined(cfg(changes)))
    end
    assert.equal("there are several ranks", captures.declined(cfg { launch = { ranks = 2 } }))
    assert.equal("timeline=off", captures.declined(cfg { timeline = "off" }))
    assert.matches("library", captures.declined(cfg { tools = { collector = "/no/library.so" } }))
    assert.is_nil(captures.declined(cfg { capture = "nsys" }))
  end)

  it("is nsys without a GPU", function()
    gpu.list = function() return {}, "no NVML" end
    assert.equal("no NVML", captures.declined(cfg()))
    gpu.list = function() return { { error = "lost" } } end
    assert.equal("no GPU is usable", captures.declined(cfg()))
    assert.equal("capture=auto would use nsys: no GPU is usable",
      failure(captures.of, cfg { counters = { by = "builtin" } })[3])
  end)

  it("does not ask for nsys where there is no GPU either", function()
    local tools = require "llmprof.nvidia.tools"
    local find = tools.find
    finally(function() tools.find = find end)
    gpu.list, tools.find = function() return {}, "no NVML" end, function() return nil, {} end
    local function refusal(changes)
      return failure(automatic.nsys.find, { cfg = cfg(changes), state = { tools = {} } })[2]
    end
    assert.equal("there is no GPU to profile: no NVML", refusal())
    assert.equal("Nsight Systems (nsys) was not found", refusal { capture = "nsys" })
    assert.equal("Nsight Systems (nsys) was not found", refusal { nsys = { sample = "cpu" } })
  end)

  local function run(program, words)
    assert(fs.write(top() .. "/standin.lua", ([[return require("llmprof.recipe").recipe {
      name = "standin", stages = { { "prefill" }, { "decode" } },
      workload = function() return { argv = { %q } } end }]]):format(program)))
    return bundle.run(top() .. "/standin.lua", top() .. "/run", { "capture=auto",
      "tools.collector=" .. top() .. "/library.so", "operators=off", "overhead=off",
      table.unpack(words or {}) })
  end

  it("takes all from one process, and says so", function()
    local ctx, problem = run(PROGRAM)
    assert.is_nil(problem)
    assert.equal("capture=auto (llmprof's own collector), mode default",
      ctx.run:recorded "plan".note)
    assert.is_true(ctx.run:has "collector/run.spool")
    assert.is_true(ctx.run:has "ncu/raw.csv")
  end)

  it("fails as the collector does", function()
    local _, problem = run("/bin/false")
    assert.equal("failed", problem.kind)
  end)
end)
