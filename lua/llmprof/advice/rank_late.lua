-- One rank comes last to the collectives of a stage's steps, and the others wait for it.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "rank_late", of_ranks = true }

-- With more ranks than this, CPU times are listed of the late one and the next one alone.
local FEW = 8

local function entry_of(made, rank) return lists.find(made.ranks, "rank", rank) end


-- Whether it is late by experts that others do not have: their work stays, on more ranks.
local function by_experts(record, made)
  local own, next_one = entry_of(made, made.rank), entry_of(made, made.next_rank)
  local more = own.work_ns - next_one.work_ns
  local experts = entry_of(record, made.rank).expert_ns
  return experts ~= nil and own.work_ns > (own.cpu_ns or 0) and more > 0
    and experts - (entry_of(record, made.next_rank).expert_ns or 0) >= more * made.steps
end


-- ---- what is said ----

-- Of two it is one that waits.
local function title_of(record, made)
  local who = "the other ranks wait"
  if #record.ranks == 2 then
    local other = record.ranks[1].rank == made.rank and record.ranks[2] or record.ranks[1]
    who = ("rank %d waits"):format(other.rank)
  end
  return ("%s for rank %d%s"):format(who, made.rank, made.phase and " in " .. made.phase or "")
end


local function lateness(made)
  local waiting = lists.sum(made.ranks, function(own) return own.waiting_ns / #made.ranks end)
  return evidence.seen("ranks wait %T of a step in its collectives on average, %P of that for rank "
    .. "%d, which comes %T after the next to last", waiting, made.share, made.rank, made.late_ns)
end


-- The CPU time of a step on each rank: those of the late one and the next one limit the gain.
local function cpu_times(made)
  local said = {}
  for _, own in ipairs(made.ranks) do
    if own.cpu_ns and (#made.ranks <= FEW or own.rank == made.rank or own.rank == made.next_rank)
    then
      said[#said + 1] = evidence.say("rank %d %T", own.rank, own.cpu_ns)
    end
  end
  return #said > 0 and evidence.seen("CPU time of a step, without waiting for the GPU: %s",
    table.concat(said, ", ")) or nil
end


-- Why nothing is to be gained where no rank is slower than the late one.
local function no_gain(record, made)
  local start = entry_of(made, made.rank).start_ns or 0
  return evidence.seen("its CPU and its GPU take no longer for a step than those of rank %d%s: "
    .. "steps get longer, not the time from one to the next%s", made.next_rank,
    start > 0 and evidence.say(", but it begins %T after the first rank", start) or "",
    record.source == "labels" and "; the process that gives it its steps is not in the trace" or "")
end


local function notes_of(record, made)
  local notes, verdict = { lateness(made) }, record.verdict or {}
  if verdict.instead and verdict.rank == made.rank and verdict.phase == made.phase then
    notes[#notes + 1] = evidence.seen("rank %d arrived late: %s", made.rank, verdict.instead)
  end
  notes[#notes + 1] = cpu_times(made)
  if made.gain_ns == 0 then notes[#notes + 1] = no_gain(record, made) end
  return notes
end


-- ---- what to try ----

-- of: what of the rank is late, its "start", its "GPU" or its CPU.
local function remedy(record, rank, of)
  if of == "start" then
    return ("see what begins the steps of rank %d later: %sits cores and their NUMA node (numactl, "
      .. "taskset), and other processes on them"):format(rank, record.source == "labels"
        and "how the engine hands its workers their steps, " or "")
  elseif of == "GPU" then
    return ("look at what rank %d alone does there: an uneven division of layers, experts, heads "
      .. "or requests, or a GPU that is slower or shared"):format(rank)
  end
  return ("look at what the CPU of rank %d's process does there that others do not: launches of "
    .. "its own, an uneven division of layers, experts, heads or requests; its cores and their "
    .. "NUMA node (numactl, taskset), and other processes on them"):format(rank)
end


-- ---- findings ----

local function report_phase(record, made, report)
  local gains, own = made.gain_ns and made.gain_ns > 0, entry_of(made, made.rank)
  local divided = gains and by_experts(record, made)
  local of = made.gain_ns == 0 and "start"
    or made.next_rank and own.work_ns > (own.cpu_ns or 0) and "GPU" or "CPU"
  report.finding {
    stage = made.phase, title = title_of(record, made), evidence = notes_of(record, made),
    try = remedy(record, made.rank, of), confidence = "high",
    changes = gains and { ("waits(%d)"):format(made.rank) } or nil,
    of_others = gains and not divided,
    assumption = divided and "no rank waits for it, as all have as much to do for their experts"
      or gains and "no rank waits for it" or nil,
  }
end


-- Without steps: who is late, and nothing to hold it against.
local function report_whole(record, report)
  local verdict = record.verdict
  local notes = { evidence.seen("%s", verdict.text) }
  if verdict.instead then
    notes[2] = evidence.seen("rank %d arrived late: %s", verdict.rank, verdict.instead)
  end
  report.finding { title = title_of(record, verdict), evidence = notes, confidence = "high",
    try = remedy(record, verdict.rank, "CPU") }
end


-- Ranks that meet in MPI's calls alone: that which is in them least, if its GPU has this many times
-- the work of the others' mean and they wait there for a tenth of that.
local MORE, LITTLE = 1.2, 0.1

local function by_mpi(ranks)
  if #ranks < 2 or #lists.map(ranks, "mpi_ns") < #ranks then return nil end
  local late = lists.largest(ranks, function(rank) return -rank.mpi_ns end)
  local most = lists.largest(ranks, "mpi_ns")
  local others = (lists.sum(ranks, "gpu_time_ns") - late.gpu_time_ns) / (#ranks - 1)
  local is_late = late.gpu_time_ns >= MORE * others
    and most.mpi_ns - late.mpi_ns >= LITTLE * late.gpu_time_ns
  return is_late and late, most
end


local function report_mpi(record, late, most, report)
  report.finding { title = title_of(record, late), confidence = "high",
    evidence = { evidence.seen("rank %d is in MPI's calls for %T, rank %d for %T", most.rank,
      most.mpi_ns, late.rank, late.mpi_ns),
      evidence.seen("the kernels of rank %d take %T, those of rank %d %T", late.rank,
        late.gpu_time_ns, most.rank, most.gpu_time_ns) },
    try = remedy(record, late.rank, "GPU") }
end


function rule.examine(results, report)
  local record = results.ranks
  local verdict = record.verdict
  if not verdict then return "there is one rank" end
  if verdict.kind == "unknown" then
    local late, most = by_mpi(record.ranks)
    if late then report_mpi(record, late, most, report) end
    return verdict.text
  end
  for _, made in ipairs(record.late or {}) do report_phase(record, made, report) end
  if #(record.late or {}) == 0 and verdict.kind == "waiting" and verdict.rank then
    report_whole(record, report)
  end
  return verdict.text
end


return rule
