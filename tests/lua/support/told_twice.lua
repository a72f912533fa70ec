-- A program told twice: as a timeline, and as a trace of torch.profiler of another run of it,
-- with names in two spellings. Both can be damaged.
local json = require "llmprof.json"
local timeline = require "tests.lua.support.timeline"

local told_twice = {}

local LAYERS = 6

-- Kernels of a layer: name as nsys and as PyTorch spell it, operator, module. Copies of
-- several operators have one name.
local layer = {
  { "void norm<(int)4>(T1)", "void norm<4>(float)", "aten::mean", "norm" },
  { "void copy<(bool)0>(T1)", "void copy<false>(float)", "aten::copy_", "norm" },
  { "gemm", "gemm", "aten::mm", "attn" },
  { "void attention<(int)64>(T1)", "void attention<64>(float)", "aten::sdpa", "attn" },
  { "gemm", "gemm", "aten::addmm", "attn" },
  { "void copy<(bool)0>(T1)", "void copy<false>(float)", "aten::add", "mlp" },
  { "gemm", "gemm", "aten::mm", "mlp" },
  { "void act<(int)1>(T1)", "void act<1>(float)", "aten::silu", "mlp", stream = 9 },
  { "gemm", "gemm", "aten::mm", "mlp" },
}
local before = { "[CUDA memcpy Host-to-Device]", "Memcpy HtoD (Pageable -> Device)",
  "aten::to", copy = true }
local after = { "void argmax<(int)1>(T1)", "void argmax<1>(float)", "aten::argmax" }


-- The launches of a step, in order: { stage, one, module }.
local function step(list, stage)
  list[#list + 1] = { stage = stage, one = before }
  for number = 0, LAYERS - 1 do
    for _, one in ipairs(layer) do
      list[#list + 1] = { stage = stage, one = one,
        module = ("model.layers.%d.%s"):format(number, one[4]) }
    end
  end
  list[#list + 1] = { stage = stage, one = after }
end


-- Repeats of a prefill and decode steps: a list of { stage, launches }.
function told_twice.program(repeats, steps)
  local stages = {}
  for _ = 1, repeats do
    local prefill, decode = { stage = "prefill", launches = {} }, { stage = "decode",
      launches = {} }
    step(prefill.launches, "prefill")
    for _ = 1, steps do step(decode.launches, "decode") end
    stages[#stages + 1], stages[#stages + 2] = prefill, decode
  end
  return stages
end


-- Every n-th launch changed by f, which gives what comes instead.
function told_twice.damage(stages, n, f)
  local count = 0
  for _, stage in ipairs(stages) do
    local kept = {}
    for _, launch in ipairs(stage.launches) do
      count = count + 1
      for _, one in ipairs(count % n == 0 and f(launch) or { launch }) do kept[#kept + 1] = one end
    end
    stage.launches = kept
  end
  return stages
end


function told_twice.dropped() return {} end

-- With a stranger before it.
function told_twice.joined_by_another(launch)
  return { { stage = launch.stage, one = { "stranger", "stranger", "aten::stranger" } }, launch }
end


-- The trace of stages, and what truly launched each operation, by its start. Kernels of another
-- stream run late. Before each launch the CPU spends 10 ns outside of CUDA calls.
function told_twice.timeline(stages)
  local lines, time, truth, id = { "process 1 python", "thread 1 main" }, 0, {}, 0
  local ops = {}
  for _, stage in ipairs(stages) do
    local from = time
    for _, launch in ipairs(stage.launches) do
      id, time = id + 1, time + 15
      lines[#lines + 1] = ("call %d %d id=%d %s"):format(time - 5, time, id,
        launch.one.copy and "cudaMemcpyAsync" or "cudaLaunchKernel")
      local start = time + (launch.one.stream and 40 or 1)
      ops[#ops + 1] = { start = start, id = id, launch = launch }
    end
    time = time + 100
    lines[#lines + 1] = ("range %d %d %s"):format(from, time, stage.stage)
  end
  table.sort(ops, function(a, b) return a.start < b.start end)
  for _, op in ipairs(ops) do
    local one = op.launch.one
    lines[#lines + 1] = one.copy
      and ("copy %d %d call=%d bytes=8 direction=h2d memory=pageable"):format(op.start,
        op.start + 4, op.id)
      or ("kernel %d %d call=%d stream=%d short=k %s"):format(op.start, op.start + 4, op.id,
        one.stream or 7, one[1])
    truth[op.start] = op.launch
  end
  return timeline.of(table.concat(lines, "\n") .. "\n"), truth
end


local function event(list, category, name, from, to, args)
  list[#list + 1] = { ph = "X", cat = category, name = name, pid = 1, tid = 1, ts = from,
    dur = to - from, args = args }
end


-- The text of the trace of torch.profiler. marked: ranges name stages and modules.
function told_twice.profile(stages, marked)
  local events, time, id = {}, 0, 0
  for _, stage in ipairs(stages) do
    local from = time
    for _, launch in ipairs(stage.launches) do
      id, time = id + 1, time + 20
      if marked and launch.module then
        event(events, "user_annotation", launch.module, time - 19, time)
      end
      event(events, "cpu_op", launch.one[3], time - 18, time - 1, { ["External id"] = id })
      event(events, "cuda_runtime", "cudaLaunchKernel", time - 10, time - 5,
        { correlation = 1000 + id })
      event(events, launch.one.copy and "gpu_memcpy" or "kernel", launch.one[2], time + 2000,
        time + 2010, { correlation = 1000 + id, ["External id"] = id })
    end
    time = time + 100
    if marked then event(events, "user_annotation", stage.stage, from, time) end
  end
  return assert(json.encode { traceEvents = events })
end


return told_twice
