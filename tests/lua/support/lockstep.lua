-- Timelines of ranks that meet in an all-reduce at the end of every step, each with a CPU time
-- that is known: one trace, of one process for each.
local lockstep = {}

-- ns: the kernel of a step, the transfer, what the CPU does after it.
local WORK, TRANSFER, AFTER = 20000, 10000, 1000


local function line(list, format, ...)
  list[#list + 1] = format:format(...)
end


-- A step of all ranks, whose ranges begin at starts; when the transfer has ended. cpu: by rank.
local function step(list, name, starts, cpu, id)
  local last = 0
  for rank, start in ipairs(starts) do last = math.max(last, start + cpu[rank]) end
  local stop = last + TRANSFER
  for rank, start in ipairs(starts) do
    local at, own = start + cpu[rank], id + 2 * rank
    line(list, "range %d %d pid=%d thread=%d %s", start, stop + AFTER, rank, rank, name)
    line(list, "call %d %d pid=%d thread=%d id=%d cudaLaunchKernel", start + 10, start + 20, rank,
      rank, own)
    line(list, "kernel %d %d pid=%d device=%d call=%d gemm(float *)", start + 50,
      start + 50 + WORK, rank, rank - 1, own)
    line(list, "call %d %d pid=%d thread=%d id=%d cudaLaunchKernel", at - 20, at - 10, rank, rank,
      own + 1)
    line(list, "kernel %d %d pid=%d device=%d call=%d ncclDevKernel_AllReduce_Sum_bf16_RING_LL(a)",
      at, stop, rank, rank - 1, own + 1)
    line(list, "call %d %d pid=%d thread=%d cudaStreamSynchronize", at, stop, rank, rank)
  end
  return stop + AFTER
end


-- Lines of tests.lua.support.timeline. given: ranks, repeats, steps, cpu (a function of a rank,
-- from 0, a repeat, from 1, and the name of a step: ns until it launches the all-reduce), lag (a
-- function of a rank: ns by which its ranges begin later; nil: none), names (of steps).
function lockstep.lines(given)
  local list, now, id = { "knows calls" }, 100000, 0
  local names = given.names or { prefill = "prefill", decode = "decode_step" }
  local function all(name, phase, number)
    local starts, cpu = {}, {}
    for rank = 1, given.ranks do
      starts[rank] = now + (given.lag and given.lag(rank - 1) or 0)
      cpu[rank] = given.cpu(rank - 1, number, phase)
    end
    id = id + 2 * given.ranks + 2
    now = step(list, name, starts, cpu, id)
  end
  for rank = 1, given.ranks do
    line(list, "device %d NVIDIA H200", rank - 1)
    line(list, "process %d python", rank)
    line(list, "thread %d pid=%d main", rank, rank)
  end
  for number = 1, given.repeats do
    all(names.prefill, "prefill", number)
    local from = now
    for _ = 1, given.steps do all(names.decode, "decode", number) end
    for rank = 1, given.decode and given.ranks or 0 do
      line(list, "range %d %d pid=%d thread=%d decode", from - 1, now + 1, rank, rank)
    end
    now = now + AFTER
  end
  return table.concat(list, "\n") .. "\n"
end


return lockstep
