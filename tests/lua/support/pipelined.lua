-- Timelines of a model in pipeline parallel whose bubbles are known: batches go through
-- stages one after the other, each stage taking `work` ns for a batch.
local pipelined = {}

-- ns: a message between stages, what lies between kernels of one batch, and when the
-- first batch comes.
local SEND, PAUSE, BEGIN = 2000, 1000, 10000


local function line(list, format, ...)
  list[#list + 1] = format:format(...)
end


-- One kernel with the call that launched it, which a range may be around.
local function kernel(list, at, pid, device, id, from, to, name, range)
  if range then line(list, "range %d %d pid=%d thread=%d %s", at - 1, at + 2, pid, pid, range) end
  line(list, "call %d %d pid=%d thread=%d id=%d cudaLaunchKernel", at, at + 1, pid, pid, id)
  line(list, "kernel %d %d pid=%d device=%d call=%d %s", from, to, pid, device, id, name)
end


-- When stage s (from 0) works on batch b, as all batches are sent as early as can be.
local function begins(given)
  local begin, free = {}, {}
  for batch = 1, given.batches do
    for stage = 0, given.stages - 1 do
      local before = stage > 0 and begin[stage - 1][batch] + given.work[stage] + SEND or BEGIN
      begin[stage] = begin[stage] or {}
      begin[stage][batch] = math.max(before, free[stage] or 0)
      free[stage] = begin[stage][batch] + given.work[stage + 1] + SEND
    end
  end
  return begin
end


-- What one rank does: it waits for each batch in a receive, works, and sends.
local function rank_of(list, given, begin, stage, pid, place)
  local id, free = pid * 1000, BEGIN // 2
  local function add(from, to, name, range)
    id = id + 1
    kernel(list, from - 50, pid, place, id, from, to, name, range)
  end
  local ranges = given.ranges or {}
  for batch = 1, given.batches do
    local from, work = begin[stage][batch], given.work[stage + 1]
    if stage > 0 then add(free, from, "ncclDevKernel_SendRecv(args)", ranges.receive) end
    add(from, from + work // 2, given.kernel or "gemm(float *)")
    if given.width > 1 then
      add(from + work // 2 + PAUSE, from + work // 2 + PAUSE + SEND,
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)")
      add(from + work // 2 + 2 * PAUSE + SEND, from + work, "norm(float *)")
    else
      add(from + work // 2 + PAUSE, from + work, "norm(float *)")
    end
    free = from + work + SEND
    if stage < given.stages - 1 then
      add(from + work, free, "ncclDevKernel_SendRecv(args)", ranges.send)
    end
  end
end


-- Lines of tests.lua.support.timeline. given: stages, width (ranks of a stage), batches,
-- work (ns of a batch on each stage, from the first), name (a function of stage and place:
-- what a process is called), kernel (what the longest is called), ranges ({ send,
-- receive }: what is around their launches).
function pipelined.lines(given)
  local list, begin = {}, begins(given)
  for stage = 0, given.stages - 1 do
    for place = 0, given.width - 1 do
      local number = stage * given.width + place
      line(list, "device %d NVIDIA H200", number)
      line(list, "process %d %s", number + 1, given.name and given.name(stage, place) or "python")
      line(list, "thread %d pid=%d main", number + 1, number + 1)
      rank_of(list, given, begin, stage, number + 1, number)
    end
  end
  table.insert(list, 1, "knows calls")
  return table.concat(list, "\n") .. "\n"
end


return pipelined
