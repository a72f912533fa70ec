local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local outermost = require "llmprof.analysis.stages.outermost"
local trace_file = require "llmprof.trace.file"
local stages = require "llmprof.analysis.stages.find"
local timeline = require "tests.lua.support.timeline"
local traces = require "tests.lua.support.traces"

local function stages_of(path)
  return traces.pick(outermost.stages(trace_file.open("tests/fixtures/" .. path)), "name")
end

describe("llmprof.analysis.stages.outermost", function()
  it("takes what lies in a stage again and again for its steps, by its name", function()
    local function told(name, inner)
      local lines = { "range 0 100 " .. name }
      for at = 1, 41, 10 do lines[#lines + 1] = ("range %d %d %s"):format(at, at + 8, inner) end
      return outermost.stages(timeline.of(table.concat(lines, "\n") .. "\n"))[1].step
    end
    assert.equal("token", told("generation", "token"))
    assert.equal("one_step", told("loop", "one_step"))
    assert.is_nil(told("generation", "layer"))
    assert.is_nil(told("generation", "tokenize"))
    assert.is_nil(told("prefill", "token"))
  end)

  it("takes the outermost ranges for stages, in their order", function()
    assert.same({ { name = "prefill" }, { name = "decode" } }, stages_of "small/run.sqlite")
    assert.same({ { name = "prefill" }, { name = "decode" } }, stages_of "tiny_h200/run.sqlite")
  end)

  it("takes none for a stage that lost the range around it to the begin of the capture", function()
    local lines = { "range 5 8 decode_step", "range 10 13 decode_step" }
    for at = 100, 300, 200 do
      lines[#lines + 1] = ("range %d %d prefill\nrange %d %d decode"):format(at, at + 10, at + 20,
        at + 70)
      for step = at + 21, at + 61, 10 do
        lines[#lines + 1] = ("range %d %d decode_step"):format(step, step + 8)
      end
    end
    local function told()
      return traces.pick(outermost.stages(timeline.of(table.concat(lines, "\n") .. "\n")), "name",
        "step")
    end
    assert.same({ { name = "prefill" }, { name = "decode", step = "decode_step" } }, told())
    lines[#lines + 1] = "range 900 910 decode_step"
    assert.equal(3, #told())
  end)

  it("takes ranges of libraries for none", function()
    local lines = [[
range 0 100 domain=NCCL ncclAllReduce
range 200 290 domain=CCCL cub::DeviceReduce
range 300 380 domain=cuBLASLt matmul
range 400 410 domain=%s step
]]
    assert.same({}, outermost.stages(timeline.of(lines:format "cuDNN")))
    assert.same({}, outermost.stages(timeline.of(lines:format "TSL")))
    assert.same({ { name = "current:step" } },
      outermost.stages(timeline.of(lines:format "current")))
  end)

  -- Two programs of one module, one of another that does next to nothing, and one that the
  -- autotuner tried on another thread.
  local XLA = [[
range 0 100 domain=TSL XlaCompile:#module=jit_step#
range 110 150 domain=TSL XlaModule:#prefix=args[0],hlo_module=jit_step,program_id=7#
range 115 145 domain=TSL Thunk:#hlo_op=fusion,unique_hlo_op_id=1#
call 120 122 id=1 cudaLaunchKernel
range 160 170 domain=TSL XlaModule:#hlo_module=jit_add,program_id=8#
call 162 163 id=2 cudaLaunchKernel
range 180 200 domain=TSL XlaModule:#hlo_module=jit_step,program_id=9#
call 185 186 id=3 cudaLaunchKernel
range 210 230 domain=TSL XlaModule:#hlo_module=jit_step,program_id=9#
call 215 216 id=4 cudaLaunchKernel
thread 2 tuner
range 10 60 domain=TSL XlaModule:#hlo_module=gemm_fusion_dot.8#
call 20 21 id=5 cudaLaunchKernel
kernel 30 50 call=5 gemm()
kernel 130 1130 call=1 step()
kernel 1130 1133 call=2 add()
kernel 1140 1640 call=3 step()
kernel 1640 2140 call=4 step()
]]

  it("takes the modules that XLA ran, those of the autotuner apart", function()
    local declared = outermost.stages(timeline.of(XLA))
    assert.same({ { name = "jit_step.1" }, { name = "jit_step.2" }, { name = "autotuning" } },
      traces.pick(declared, "name"))
    assert.same({ { name = "decode" } },
      outermost.stages(timeline.of(XLA .. "range 100 150 decode\n")))
  end)

  it("counts executions of a module, and nothing of the autotuner", function()
    local trace = timeline.of(XLA)
    local function check(found)
      assert.same({ { stage = "autotuning", used = false, wall = 50 },
        { stage = "jit_step.1", used = true, wall = 1020 },
        { stage = "jit_step.2", used = true, wall = 507 },
        { stage = "jit_step.2", used = true, wall = 500 } },
        traces.pick(found.instances, "stage", "used", "wall"))
    end
    check(stages.find(trace, outermost.stages(trace), "no"))
    check(stages.find(trace, { { name = "jit_step.1" }, { name = "jit_step.2" },
      { name = "autotuning" } }, "no"))
  end)

  it("takes numbered prefills and decodes for one stage each", function()
    local list = outermost.stages(timeline.of [[
range 0 100 prefill 1
range 100 190 decode_1
range 200 290 prefill 2
range 300 380 decode_2
]])
    assert.same({ { name = "prefill", tags = { "prefill 1", "prefill 2" } },
      { name = "decode", tags = { "decode_1", "decode_2" } } }, traces.pick(list, "name", "tags"))
  end)

  it("takes ranges by start and end where there are no others", function()
    local pairs_of = "range 0 50 style=start_end step\n"
      .. "range 10 60 style=start_end end_thread=2 way\n"
    assert.same({ { name = "step" } }, outermost.stages(timeline.of(pairs_of)))
    assert.same({ { name = "decode" } },
      outermost.stages(timeline.of(pairs_of .. "range 100 150 decode\n")))
  end)

  describe("of a trace of torch.profiler", function()
    local top = bundle.scratch(before_each, after_each)

    -- The stages of annotations: { name, start, duration } in us each.
    local function of(annotations)
      local events = json.list {}
      for i, one in ipairs(annotations) do
        events[i] = { ph = "X", cat = "user_annotation", name = one[1], ts = one[2], dur = one[3],
          pid = 1, tid = 1 }
      end
      local path = top() .. "/run.json"
      assert(fs.write(path, assert(json.encode { schemaVersion = 1, traceEvents = events })))
      local opened <close> = trace_file.open(path)
      return traces.pick(outermost.or_inferred(opened), "name")
    end

    it("takes what lies in the steps of the schedule", function()
      assert.same({ { name = "forward" }, { name = "backward" } }, of {
        { "ProfilerStep#3", 10, 90 },
        { "forward", 20, 30 }, { "backward", 60, 30 }, { "ProfilerStep#4", 110, 90 },
        { "forward", 120, 30 }, { "backward", 160, 30 } })
    end)

    it("takes these steps where nothing else is marked", function()
      assert.same({ { name = "ProfilerStep" } }, of { { "ProfilerStep#3", 10, 90 },
        { "Optimizer.step#Adam.step", 20, 30 }, { "hccl:all_to_all", 60, 9 },
        { "ProfilerStep#4", 110, 90 } })
    end)

    it("leaves an engine's steps to it", function()
      assert.same({ { name = "prefill" }, { name = "decode" } }, of { { "ProfilerStep#3", 10, 90 },
        { "execute_context_1(8)_generation_0(0)", 20, 30 },
        { "execute_context_0(0)_generation_1(1)", 60, 30 } })
    end)

    it("takes no numbered ranges and no operators", function()
      assert.same({ { name = "warmup" } }, of { { "request 1", 10, 9 }, { "request 2", 20, 9 },
        { "aten::mm, op_id = 7", 40, 9 }, { "warmup", 50, 9 } })
    end)
  end)

  it("takes no domain without a name for the default one, and no call of NCCL for a stage",
    function()
      local ranges = trace_file.open("tests/fixtures/two_gpus/run.sqlite"):frame "ranges"
      assert.same({ "domain 1", "domain 1:ncclAllGather", 4 }, (function()
        local own = ranges:where { text = "ncclAllGather" }
        return { own:get(1, "domain"), own:get(1, "tag"), #own }
      end)())
      assert.same({}, stages_of "two_gpus/run.sqlite")
      assert.same({}, outermost.stages(timeline.of("range 0 9 ncclAllReduce\n")))
    end)

  it("takes what is in the one range around all, and the ranges of its decode's steps", function()
    local lines = [[
range 0 900 measured
range 0 900 measured
range 10 90 prefill
range 100 400 decode
range 110 190 decode_step
]]
    assert.same({ { name = "prefill" }, { name = "decode", step = "decode_step" } },
      outermost.stages(timeline.of(lines)))
    assert.same({ { name = "measured" } }, outermost.stages(timeline.of(
      (lines:gsub("prefill", "load"):gsub("decode", "train")))))
  end)

  it("finds none where there are no ranges", function()
    assert.same({}, stages_of "odd/no_nvtx.sqlite")
  end)
end)
