-- Ranks, steps and collectives of one trace or of many, put together:
--
--   local part = require "llmprof.ranks.part"
--   local made = ranks.examine({ part.of(trace, "rank0.sqlite", given) }, given)
--
-- What comes out is part of results.json (docs/results.schema.json, `ranks`, which explains every
-- field): times in ns, shares 0 to 1, absent what cannot be told.
local clocks = require "llmprof.ranks.clocks"
local collectives = require "llmprof.ranks.collectives"
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local merged = require "llmprof.ranks.merged"
local members = require "llmprof.ranks.members"
local merge = require("llmprof.tables.keys").merged
local rows = require "llmprof.ranks.rows"
local pipeline = require "llmprof.ranks.pipeline"
local requests = require "llmprof.ranks.requests"
local statistics = require "llmprof.statistics"
local step_groups = require "llmprof.ranks.step_groups"
local lists = require "llmprof.tables.lists"
local text = require "llmprof.text"
local verdict = require "llmprof.ranks.verdict"

local ranks = {}

local function note(left_out, form, ...) left_out[#left_out + 1] = form:format(...) end

-- Kernels listed; the rest is in their sum. Tests change it.
ranks.KERNELS = 200

-- Transfers that are too long to be any are said from this share of the time in collectives on.
local BEYOND = 0.03


-- ---- files ----

-- How each file's clock was put on that of the first: by itself, UTC, or collectives.
local function file_records(made)
  local list = json.list {}
  for i, part in ipairs(made.parts) do
    local fit = made.fits[i]
    local correction = clocks.correction(fit)
    list[i] = { file = part.about.file:match "([^/]*)$", ranks = #part.about.ranks,
      clock = #made.parts == 1 and "own" or (correction and "collectives"
        or (part.about.epoch and "UTC" or "none")),
      offset_ns = correction and correction.offset, drift = correction and correction.drift,
      pairs = fit and fit.count, apart_ns = fit and fit.raw,
      residual_ns = fit and (correction and fit.residual or fit.raw) }
  end
  return list
end


-- Ranks of a file whose clock could not be compared with the first one's. Stages of a pipeline
-- share none; nor do groups of ranks that communicators name, which are on the same clock when
-- they are of one file, or of files that say when they began.
local function note_unaligned(made, left_out)
  local first
  for _, rank in ipairs(made.told_by and {} or made.ranks) do
    local group, part = made.groups[rank.rank], made.parts[rank.part]
    if group and group.leader == rank.rank and #part.collectives > 0 then
      first = first or { rank = rank.rank, part = part }
      local on_clock = part == first.part or part.about.epoch and first.part.about.epoch
      if first.rank ~= rank.rank and not (group.named and on_clock) then
        note(left_out, "%s, rank %d: no collectives that end with those of rank %d: another job "
          .. "or group of ranks, or a clock that cannot be put right; not matched with it",
          rank.file:match "([^/]*)$", rank.rank, first.rank)
      end
    end
  end
end


-- What marks the steps: labels of an engine, ranges, or nothing but regularity.
local function source_of(parts)
  local seen = lists.set(lists.map(parts, function(part) return part.about.source end))
  return seen.labels and "labels" or seen.ranges and "ranges" or seen.inferred and "inferred"
    or nil
end


-- Files that lack what the others have.
local function note_lacking(made, left_out)
  local first = {} -- by the number that a file says of itself
  for _, part in ipairs(made.parts) do
    local name, own, unserved = part.about.file:match "([^/]*)$", part.about.ranks,
      part.about.unserved
    local number = #own == 1 and members.told(own[1].process)
    if number and first[number] then
      note(left_out, "%s: says rank %d as %s does: ranks are numbered by their files", name,
        number, first[number])
    elseif number then
      first[number] = name
    end
    if unserved then
      note(left_out, "%s: GPU activity was not recorded for %d of %d processes that launch work: "
        .. "they are no ranks", name, unserved.count, unserved.of)
    elseif #made.parts > 1 and #own == 0 then
      note(left_out, "%s: no kernels of a known process: no rank", name)
    elseif #made.parts > 1 and #part.collectives == 0 then
      note(left_out, "%s: no collectives: it is matched with nothing", name)
    end
    if made.steps and not part.steps then
      note(left_out, "%s: no step labels: it is in no step", name)
    elseif part.about.source == "inferred" and source_of(made.parts) ~= "inferred" then
      note(left_out, "%s: no step labels: its steps are inferred", name)
    end
  end
end


-- Ranks that names and places tell to be missing, else communicators; returns these in words.
local function note_missing(made, left_out)
  local names = members.missing(made.ranks)
  if #names == 0 then names = members.missing_of_communicators(made.parts) end
  for _, name in ipairs(names) do
    note(left_out, "%s: no file of it is there: waiting for it counts as transfer", name)
  end
  return names
end


-- Transfers that are too long to be any, which is said of itself where no rank is known to be
-- absent.
local function note_beyond(record, absent, link)
  local totals = record.totals
  if totals.matched == 0 or totals.beyond_ns == 0
    or totals.beyond_ns * #record.ranks < BEYOND * totals.collective_ns then
    return
  end
  record.doubt = ("%s of %s of transfer are beyond what such transfers take%s: another rank, "
    .. "which is not in the capture, may be what they wait for"):format(
    text.duration(totals.beyond_ns), text.duration(totals.transfer_ns),
    link and (" over " .. link.name) or "")
  if #absent == 0 then record.left_out[#record.left_out + 1] = record.doubt end
end


local function note_unmatched(made, left_out)
  if not made.collectives or #made.ranks < 2 then return end
  local alone = made.collectives:where { instance = false }
  local groups = alone:group { by = { "world", "short_name" }, total = { "start" } }
  lists.sort(groups, "world", function(group) return group.start.min end)
  for _, group in ipairs(groups) do
    note(left_out, "rank %d: %s of %s without a counterpart on another rank", group.world,
      text.count(group.count), group.short_name)
  end
end


-- Ranks that have fewer collectives of a kind than the others that they meet in it: these
-- are matched without them.
local function note_fewer(made, left_out)
  if not made.collectives then return end
  local met = collectives.matched(made.collectives)
  local kinds = rows.by(met, "key", { distinct = { "instance" }, total = { "members" } })
  local groups = met:group { by = { "key", "short_name", "world" } }
  for _, group in ipairs(lists.sort(groups, "world", "key")) do
    local kind = kinds[group.key]
    local all = kind.distinct.instance
    if kind.members.max > 2 and group.count < all then
      note(left_out, "rank %d: %s of %s %s are not there: the others are matched without it",
        group.world, text.count(all - group.count), text.count(all), group.short_name)
    end
  end
end


-- ---- kernels ----

-- Kernels as parts have them, each with the `time` of as many as took its `duration`.
local function timed(kernels)
  local seen = errors.check(kernels:where { { "duration", "~=", false }, { "count", ">=", 1 } })
  return seen:alias("count", "calls"):compute { name = "time", type = "integer", unit = "ns",
    steps = { { "duration" }, { "calls" }, "*" } }
end


-- By rank its time in kernels.
local function time_by_rank(kernels)
  return rows.by(kernels, "world", { total = { "time" } })
end


-- The median duration of each kernel, by its name: the mean of the two in the middle, of which
-- one is told as often as it was seen.
local function medians(kernels)
  local of, before, calls_of = {}, {}, rows.by(kernels, "short_name", { total = { "calls" } })
  local sorted = errors.check(kernels:sort { { "duration" } })
  local durations, calls = sorted:values "duration", sorted:values "calls"
  for row, name in ipairs(sorted:values "short_name") do
    local first, all = before[name] or 0, calls_of[name].calls.total
    before[name] = first + calls[row]
    for _, place in ipairs { (all - 1) // 2, all // 2 } do
      if first <= place and place < before[name] then
        of[name] = (of[name] or 0) + durations[row] / 2
      end
    end
  end
  return of
end


-- Kernels once each, over all ranks. With very many names only those that take most are looked at.
local function kernel_records(all)
  local sums = all:group { by = { "short_name" }, columns = { { "time", "sum", "time" } } }
  local largest = errors.check(sums:sort({ { "time", true }, { "short_name" } },
    2 * ranks.KERNELS))
  local kernels = errors.check(all:where { short_name = largest:values "short_name" })
  local list, found, median = json.list {}, {}, medians(kernels)
  for _, group in ipairs(kernels:group { by = { "short_name", "world" },
    total = { "calls", "time" } }) do
    local name, calls = group.short_name or "(unnamed kernel)", group.calls.total
    local made = lists.entry(list, found, name, { name = name, calls = 0, total_ns = 0,
      median_ns = median[group.short_name or false] })
    local mean = group.time.total / calls
    made.calls, made.total_ns = made.calls + calls, made.total_ns + group.time.total
    made.mean_ns = made.total_ns / made.calls
    if not made.slowest_ns or mean > made.slowest_ns then
      made.slowest_rank, made.slowest_ns = group.world, mean
    end
    made.fastest_ns = math.min(made.fastest_ns or mean, mean)
  end
  return json.list(lists.first(lists.sort(list, "-total_ns", "name"), ranks.KERNELS))
end


-- Time in kernels of experts per rank, and how much more the busiest has than the mean.
local function add_experts(record, kernels, mark_experts)
  if not mark_experts then return end
  mark_experts(kernels, "name", "expert")
  local own = time_by_rank(kernels:where { expert = 1 })
  for _, rank in ipairs(record.ranks) do
    rank.expert_ns = own[rank.rank] and own[rank.rank].time.total
  end
  local times = lists.map(record.ranks, "expert_ns")
  local sum = statistics.sum(times)
  if #times > 1 and sum > 0 then
    record.expert_imbalance = math.max(table.unpack(times)) / (sum / #times)
  end
end


-- ---- steps ----

-- Threads while the GPU waited for steps, of all parts, in order of phase and rank, that which did
-- most first.
local function thread_records(made)
  local list = json.list(lists.flat(made.ranks, function(rank)
    local threads = made.parts[rank.part].about.idle_threads or {}
    return lists.map(lists.filtered(threads, function(thread) return thread.rank == rank.own end),
      function(thread) return merge(thread, { rank = rank.rank }) end)
  end))
  lists.sort(list, function(one) return step_groups.place(one.phase) end, "rank",
    function(one) return -(one.calls_ns + one.ranges_ns) end, "tid")
  return #list > 0 and list or nil
end


local function add_steps(record, made)
  for _, part in ipairs(made.parts) do record.engine = record.engine or part.about.engine end
  record.source = source_of(made.parts)
  local startup = lists.sum(made.parts, function(part) return part.about.startup_steps end)
  record.startup_steps = startup > 0 and startup or nil
  local counted = errors.check(made.steps:where { uncounted = false })
  record.stages = step_groups.list(counted, { "phase" })
  record.steps = step_groups.list(counted, { "phase", "batch", "tokens", "generation" })
  record.padded = step_groups.padded(made.steps)
  record.step_rows = step_groups.rows(counted)
  record.idle_threads = thread_records(made)
  for _, group in ipairs(record.steps) do
    local tokens = group.generation
    -- a step of more tokens than requests verifies speculated ones, of which some are accepted
    if group.phase == "decode" and tokens and (group.tokens or tokens) <= tokens
      and group.interval_ns and group.interval_ns > 0 then
      group.tokens_per_s = tokens / group.interval_ns * 1e9
    end
  end
end


-- ---- who waits for whom ----

-- The record as it would be of what counts alone, as far as the verdict asks. all: collectives
-- of that.
local function of_counted(record, made, all)
  local cold = made.steps:where { { "uncounted", "~=", false } }
  local list = lists.map(record.ranks, function(rank)
    return { rank = rank.rank, leader = rank.leader }
  end)
  collectives.add_to_ranks(list, all)
  local spent = cold:group { total = { "gpu_time" } }[1]
  local phases = lists.map((lists.grouped(made.windows, "phase")), function(own)
    return own[1].phase
  end)
  return setmetatable({ ranks = list, totals = collectives.totals(all),
    places = collectives.places(all), uncounted = table.concat(phases, " and "),
    gpu_time_ns = record.gpu_time_ns - (spent and spent.gpu_time.total or 0) },
    { __index = record })
end


-- Add the verdict and, by phase, which rank is late; of steps that count. absent: ranks that are
-- not there, in words.
local function judge(record, made, absent)
  local all, seen = made.collectives, record
  if all and made.steps and made.windows then
    all = errors.check(all:where { uncounted = false })
    seen = of_counted(record, made, all)
  end
  record.verdict = verdict.of(seen, all, absent)
  if all and made.steps and #record.ranks > 1 then
    record.late = verdict.phases(made, all, record.ranks, { source = record.source,
      lacks = record.doubt ~= nil or #absent > 0 })
  end
end


-- Of each rank what the results tell.
local function rank_records(list)
  return json.list(lists.map(list, function(rank)
    local record = document.record(rank, "results", "rank")
    record.file = rank.file:match "([^/]*)$"
    return record
  end))
end


-- The link between the GPUs of all ranks, nil where they differ or it is not known.
local function link_between(list, link)
  local differ = lists.any(list, function(rank) return rank.gpu ~= list[1].gpu end)
  return link and list[1] and not differ and link(list[1].gpu) or nil
end


-- What the parts say together, and the frames that it was made of. given: mark_experts
-- (see steps.label_work, of kernels of experts; nil: none are known), link (of a GPU's:
-- { name, bytes_per_s }), metrics (metrics.json, nil without), left_out (lines about files
-- that could not be read or are there twice), unread (names of the former), uncounted (what
-- a timeline leaves out, see uncounted.windows). The parts' frames are taken over.
function ranks.examine(parts, given)
  local made = merged.of(parts, given.uncounted)
  local record = { ranks = made.ranks, files = file_records(made),
    left_out = json.list(lists.joined(given.left_out or {})) }
  note_lacking(made, record.left_out)
  local absent = note_missing(made, record.left_out)
  lists.add(absent, given.unread or {})
  note_unaligned(made, record.left_out)
  note_unmatched(made, record.left_out)
  note_fewer(made, record.left_out)
  local kernels = timed(made.kernels)
  local times = time_by_rank(kernels)
  for _, rank in ipairs(record.ranks) do
    rank.gpu_time_ns = times[rank.rank] and times[rank.rank].time.total or 0
  end
  record.gpu_time_ns = lists.sum(record.ranks, "gpu_time_ns")
  add_experts(record, kernels, given.mark_experts)
  record.kernels = kernel_records(kernels)
  local all = made.collectives
  if all then
    collectives.add_to_ranks(record.ranks, all)
    local link = link_between(record.ranks, given.link)
    record.totals = collectives.totals(all)
    record.totals.beyond_ns = members.transfers_beyond(all, link)
    record.collectives = collectives.kernels(all, link)
    note_beyond(record, absent, link)
    record.places = collectives.places(all)
    record.layers = collectives.layers(all)
  end
  if made.told_by then
    record.pipeline = pipeline.examine(record.ranks, made.told_by, made.busy, made.p2p)
  end
  if made.steps then
    step_groups.add_waiting(made)
    add_steps(record, made)
  end
  record.requests = requests.of(given.metrics, record.steps, made.steps, made.epoch)
  record.kv_transfers = requests.kv_transfers(made.steps)
  record.engine_looks = requests.engine_looks(given.metrics, made.steps, made.epoch)
  for _, rank in ipairs(made.ranks) do
    rank.leader = made.groups[rank.rank] and made.groups[rank.rank].leader
  end
  judge(record, made, absent)
  record.ranks = rank_records(record.ranks)
  return record, made
end


return ranks
