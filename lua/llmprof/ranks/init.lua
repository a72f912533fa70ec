-- Ranks, steps and collectives of one trace or of many, put together:
--
--   local part = require "llmprof.ranks.part"
--   local made = ranks.examine({ part.of(trace, "rank0.sqlite", given) }, given)
--
-- What comes out is part of results.json (docs/results.schema.json, `ranks`): times in
-- ns, shares 0 to 1, absent what cannot be told.
local clocks = require "llmprof.ranks.clocks"
local communication = require "llmprof.ranks.communication"
local json = require "llmprof.json"
local merged = require "llmprof.ranks.merged"
local pack = require "llmprof.pack"
local per_step = require "llmprof.ranks.per_step"
local requests = require "llmprof.ranks.requests"
local rows = require "llmprof.ranks.rows"
local step_groups = require "llmprof.ranks.step_groups"
local text = require "llmprof.text"
local verdict = require "llmprof.ranks.verdict"

local ranks = {}

-- Kernels listed; the rest is in their sum.
local MOST_KERNELS = 200

local rank_keys = { "rank", "file", "pid", "process", "device", "gpu", "tp", "pp", "dp", "ep",
  "kernels", "gpu_time_ns", "expert_ns", "collectives", "matched", "collective_ns", "hidden_ns",
  "exposed_ns", "waiting_ns", "last", "caused_ns" }

local file_keys = { "file", "ranks", "clock", "offset_ns", "drift", "pairs", "apart_ns",
  "residual_ns" }

local top_keys = { "verdict", "files", "left_out", "ranks", "totals", "gpu_time_ns", "source",
  "engine", "stages", "steps", "padded", "requests", "collectives", "places", "layers", "kernels",
  "expert_imbalance", "step_rows" }


-- ---- files ----

-- How each file's clock was put on that of the first: by itself, UTC, or collectives.
local function file_records(made)
  local list = json.list {}
  for i, part in ipairs(made.parts) do
    local fit = made.fits[i]
    local correction = clocks.correction(fit)
    list[i] = json.ordered({ file = part.about.file:match "([^/]*)$", ranks = #part.about.ranks,
      clock = #made.parts == 1 and "own" or (correction and "collectives"
        or (part.about.epoch and "UTC" or "none")),
      offset_ns = correction and correction.offset, drift = correction and correction.drift,
      pairs = fit and fit.count, apart_ns = fit and fit.raw,
      residual_ns = fit and (correction and fit.residual or fit.raw) }, file_keys)
  end
  return list
end


-- Ranks of a file whose clock could not be compared with the first one's.
local function note_unaligned(made, left_out)
  local leaders = {}
  for _, rank in ipairs(made.ranks) do
    local group = made.groups[rank.rank]
    if group and group.leader == rank.rank then leaders[#leaders + 1] = rank end
  end
  for i = 2, #leaders do
    left_out[#left_out + 1] = ("%s, rank %d: no collectives that end with those of rank %d: "
      .. "another job or group of ranks, or a clock that cannot be put right; not matched with it")
      :format(leaders[i].file:match "([^/]*)$", leaders[i].rank, leaders[1].rank)
  end
end


-- Files that lack what the others have.
local function note_lacking(made, left_out)
  for _, part in ipairs(made.parts) do
    local name = part.about.file:match "([^/]*)$"
    if #part.about.ranks == 0 then
      left_out[#left_out + 1] = name .. ": no kernels: no rank"
    elseif #made.parts > 1 and #part.collectives == 0 then
      left_out[#left_out + 1] = name .. ": no collectives: it is matched with nothing"
    end
    if made.steps and not part.steps then
      left_out[#left_out + 1] = name .. ": no step labels: it is in no step"
    end
  end
end


-- Numbers that are missing where names number the ranks.
local function note_missing(made, left_out)
  local seen, most = {}, -1
  for _, rank in ipairs(made.ranks) do
    seen[rank.rank], most = true, math.max(most, rank.rank)
  end
  for number = 0, most do
    if not seen[number] then
      left_out[#left_out + 1] = ("rank %d: no file of it is there"):format(number)
    end
  end
end


local function note_unmatched(made, left_out)
  if not made.collectives or #made.ranks < 2 then return end
  local alone = rows.check(made.collectives:where { instance = false })
  for _, group in ipairs(alone:group { by = { "world", "short_name" } }) do
    left_out[#left_out + 1] = ("rank %d: %s of %s without a counterpart on another rank"):format(
      group.world, text.count(group.count), group.short_name)
  end
end


-- ---- kernels ----

local function gpu_time(record, kernels)
  local by_rank = {}
  for _, group in ipairs(rows.check(pack.spread(kernels, { "world" }, "duration", "count"))) do
    by_rank[group.world] = group.total
  end
  record.gpu_time_ns = 0
  for _, rank in ipairs(record.ranks) do
    rank.gpu_time_ns = by_rank[rank.rank] or 0
    record.gpu_time_ns = record.gpu_time_ns + rank.gpu_time_ns
  end
end


-- Kernels once each, over all ranks: { name, calls, total_ns, mean_ns, median_ns,
-- slowest_rank, slowest_ns (mean there), fastest_ns }.
local function kernel_records(kernels)
  local list, found = json.list {}, {}
  for i, group in ipairs(rows.check(pack.spread(kernels, { "short_name" }, "duration",
    "count"))) do
    list[i] = { name = group.short_name or "(unnamed kernel)", calls = group.count,
      total_ns = group.total, mean_ns = group.mean, median_ns = group.median }
    found[group.short_name or false] = list[i]
  end
  for _, group in ipairs(rows.check(pack.spread(kernels, { "short_name", "world" }, "duration",
    "count"))) do
    local made = found[group.short_name or false]
    if not made.slowest_ns or group.mean > made.slowest_ns then
      made.slowest_rank, made.slowest_ns = group.world, group.mean
    end
    made.fastest_ns = math.min(made.fastest_ns or math.huge, group.mean)
  end
  table.sort(list, function(a, b)
    if a.total_ns ~= b.total_ns then return a.total_ns > b.total_ns end
    return a.name < b.name
  end)
  for i = #list, MOST_KERNELS + 1, -1 do list[i] = nil end
  return list
end


-- Time in kernels of experts per rank, and how much more the busiest has than the mean.
local function add_experts(record, kernels, is_expert)
  if not is_expert then return end
  rows.extend(kernels, { "name" }, { { name = "expert", type = "integer",
    get = function(key) return key.name and is_expert(key.name) and 1 or 0 end } })
  local of = rows.check(kernels:where { expert = 1 })
  local sum, most, count = 0, 0, 0
  local own = {}
  for _, group in ipairs(rows.check(pack.spread(of, { "world" }, "duration", "count"))) do
    own[group.world] = group.total
  end
  for _, rank in ipairs(record.ranks) do
    rank.expert_ns = own[rank.rank]
    if rank.expert_ns then
      sum, most, count = sum + rank.expert_ns, math.max(most, rank.expert_ns), count + 1
    end
  end
  if count > 1 and sum > 0 then record.expert_imbalance = most / (sum / count) end
end


-- ---- steps ----

local function add_steps(record, made)
  per_step.add(made)
  local source
  for _, part in ipairs(made.parts) do
    source = source or part.about.source
    record.engine = record.engine or part.about.engine
  end
  record.source = source
  record.stages = step_groups.list(made.steps, { "phase" })
  record.steps = step_groups.list(made.steps, { "phase", "batch", "tokens", "generation" })
  record.padded = step_groups.padded(made.steps)
  record.step_rows = step_groups.rows(made.steps)
  for _, group in ipairs(record.steps) do
    local tokens = group.generation
    if group.phase == "decode" and tokens and group.interval_ns and group.interval_ns > 0 then
      group.tokens_per_s = tokens / group.interval_ns * 1e9
    end
  end
end


-- ---- together ----

local function ordered_ranks(list)
  local records = json.list {}
  for i, rank in ipairs(list) do
    local record = {}
    for _, key in ipairs(rank_keys) do record[key] = rank[key] end
    record.file = rank.file:match "([^/]*)$"
    records[i] = json.ordered(record, rank_keys)
  end
  return records
end


-- What the parts say together, and the frames that it was made of. given: is_expert
-- (a function of a kernel's name), metrics (metrics.json, nil without), left_out (lines
-- about files that could not be read). The parts' frames are taken over.
function ranks.examine(parts, given)
  local made = merged.of(parts)
  local record = { ranks = made.ranks, files = file_records(made),
    left_out = json.list(table.move(given.left_out or {}, 1, #(given.left_out or {}), 1, {})) }
  note_lacking(made, record.left_out)
  note_missing(made, record.left_out)
  note_unaligned(made, record.left_out)
  note_unmatched(made, record.left_out)
  gpu_time(record, made.kernels)
  add_experts(record, made.kernels, given.is_expert)
  record.kernels = kernel_records(made.kernels)
  local all = made.collectives
  if all then
    communication.add_layers(all)
    communication.add_to_ranks(record.ranks, all)
    record.totals = communication.totals(all)
    record.collectives = communication.kernels(all)
    record.places = communication.places(all)
    record.layers = communication.layers(all)
  end
  if made.steps then add_steps(record, made) end
  record.requests = requests.of(given.metrics, record.steps)
  record.verdict = verdict.of(record, all)
  record.ranks = ordered_ranks(record.ranks)
  return json.ordered(record, top_keys), made
end


return ranks
