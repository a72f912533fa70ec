-- Stages of a trace that no recipe declares: the outermost NVTX ranges of its main domain,
-- push/pop ranges or, without any, those by start and end that end on their own thread; of a
-- JAX program that marks nothing itself the modules that XLA ran.
local engines = require "llmprof.engines"
local check = require("llmprof.process.errors").check
local infer = require "llmprof.analysis.stages.infer"
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"
local rows = require "llmprof.ranks.rows"

local outermost = {}


-- Styles of ranges.
local PUSH_POP, START_END = 0, 1

-- Libraries mark their own calls in domains of their own, which are no stages of a program;
-- PyTorch is what readers of its traces call operators. XLA's (TSL) are asked for modules.
local LIBRARIES = { cccl = true, cub = true, thrust = true, nccl = true, rccl = true,
  nvshmem = true, ucx = true, mpi = true, nvjpeg = true, npp = true, cutlass = true,
  pytorch = true, tsl = true }

-- The steps of torch.profiler's schedule, which have their number as payload.
local STEP = "ProfilerStep"

-- More texts than this at the top are numbered requests or steps, not stages.
local MOST_STAGES = 32


-- The outermost ranges of a style by domain ("" is the default one), but for libraries': list of
-- { name, total, tags }.
local function by_domain(ranges, style)
  local domains, by_name = {}, {}
  for _, row in ipairs(ranges:where { style = style, level = 0 }
    :group { by = { "domain", "tag" }, total = { "start", "duration" } }) do
    local name = row.domain or ""
    -- CUDA's own are all called alike: cuBLAS, cuDNN, cuFFT
    if not (LIBRARIES[name:lower()] or name:find "^cu%u%u") then
      local domain = lists.entry(domains, by_name, name, { name = name, total = 0, tags = {} })
      domain.total = domain.total + row.duration.total
      if row.tag then table.insert(domain.tags, { tag = row.tag, first = row.start.min }) end
    end
  end
  return domains
end


-- Tags right inside of ranges with this tag, of a domain: list of { tag, first }.
local function inside_tag(ranges, tag, domain)
  local around = ranges:where { tag = tag }:values "range"
  local inside = check(ranges:where { domain = domain or false, parent = around,
    { "tag", "~=", false } })
  return lists.map(inside:group { by = { "tag" }, total = { "start" } }, function(group)
    return group.tag ~= tag and { tag = group.tag, first = group.start.min } or nil
  end)
end


-- The default domain where it has any range, else the one that covers most.
local function main_domain(domains)
  return lists.find(domains, "name", "") or lists.sort(domains, "-total", "name")[1]
end


-- What PyTorch marks of its own: compiled graphs, collectives, optimizers, data loaders, models
-- that are spread over GPUs; and
-- NCCL its calls, whose domain has no name in some exports.
local OF_LIBRARIES = { "^## ", "^%a+ccl:", "^gloo:", "^Optimizer%.", "^enumerate%(DataLoader",
  "^DistributedDataParallel%.", "^FullyShardedDataParallel%.", "^FSDP::", "^nccl%u" }

local function is_engines(tag)
  return lists.any(engines.all(), function(engine) return engine.step(tag) end)
end


-- Is a tag one of a step, an operator, a module, or a library's own?
local function is_no_stage(tag)
  return lists.any(OF_LIBRARIES, function(pattern) return tag:find(pattern) end)
    or is_engines(tag) or range_name.read_text(tag)
end


local function is_of_model(tag)
  local role = range_name.role(tag)
  return role == "prefill" or role == "decode"
end


-- "decode" for "decode_17", where that is what it says.
local function without_number(tag)
  local word = tag:match "^(.-)[_%s#:-]*%d+$"
  return word and is_of_model(word) and word or nil
end


-- Those that can be stages: no two of them differ in their numbers alone, as ProfilerStep#3
-- and ProfilerStep#4 do, which are steps. Numbered prefills and decodes are one stage.
local function without_steps(tags)
  local counts, kept, numbered = {}, {}, {}
  local function text_of(tag) return (tag:gsub("%d+", "#")) end
  for _, entry in ipairs(tags) do
    local shared = text_of(entry.tag)
    counts[shared] = (counts[shared] or 0) + 1
  end
  for _, entry in ipairs(tags) do
    local word = counts[text_of(entry.tag)] > 1 and without_number(entry.tag)
    if counts[text_of(entry.tag)] == 1 and not is_no_stage(entry.tag) then
      kept[#kept + 1] = entry
    elseif word and numbered[word] then
      table.insert(numbered[word].tags, entry.tag)
      numbered[word].first = math.min(numbered[word].first, entry.first)
    elseif word then
      numbered[word] = { tag = word, tags = { entry.tag }, first = entry.first }
      kept[#kept + 1] = numbered[word]
    end
  end
  return kept
end


-- The same where the steps of torch.profiler's schedule are around them: what lies in these,
-- else the steps themselves (true behind the list).
local function within_steps(ranges, tags)
  local step = lists.find(tags, "tag", STEP)
  if not step then return without_steps(tags) end
  local all = lists.joined(inside_tag(ranges, STEP),
    lists.filtered(tags, function(entry) return entry ~= step end))
  local kept = without_steps(all)
  if #kept > 0 then return kept end
  if lists.any(all, function(entry) return is_engines(entry.tag) end) then return {} end
  return { step }, true
end


-- What is in the one range around all that is measured, where that is a prefill or a decode; else
-- the tags as they are.
local function within_one(ranges, tags, domain)
  local inside = #tags == 1 and without_steps(inside_tag(ranges, tags[1].tag, domain)) or {}
  return lists.any(inside, function(entry) return is_of_model(entry.tag) end) and inside or tags
end


-- ---- XLA's modules ----

-- Stages of a JAX program: the modules that XLA ran, each execution a range
--   XlaModule:#prefix=...,hlo_module=jit_step,program_id=148200#
-- in its domain TSL. A function that was compiled for several shapes is several programs of
-- one module name: "jit_step.1", "jit_step.2", in the order in which they first ran. Modules
-- without a program are what the autotuner tries.

local AUTOTUNING = "autotuning"

-- Programs that take less than this share of the GPU time of all of them are no stages.
local LEAST_SHARE = 0.01

-- The module and the program (nil of the autotuner's) that a tag is an execution of.
local function module_of(tag)
  local inside = tag:match "^TSL:XlaModule:#(.*)#$"
  local module = inside and inside:match "%f[%w_]hlo_module=([^,#]+)"
  return module, inside and inside:match "%f[%w_]program_id=(%d+)"
end


-- Programs in the order in which they first ran: { module, tags, first (ns), name (of the stage) };
-- and the tags of the autotuner.
local function programs_of(trace)
  local list, by_key, tuned = {}, {}, {}
  for _, row in ipairs(check(trace:frame "ranges"):where { domain = "TSL" }
    :group { by = { "tag" }, total = { "start" } }) do
    local module, program = module_of(row.tag or "")
    if module and not program then
      tuned[#tuned + 1] = row.tag
    elseif module then
      local made = lists.entry(list, by_key, module .. " " .. program,
        { module = module, program = program, tags = {}, first = row.start.min })
      made.tags[#made.tags + 1] = row.tag
      made.first = math.min(made.first, row.start.min)
    end
  end
  for _, own in ipairs(lists.grouped(lists.sort(list, "first", "module", "program"), "module")) do
    for number, one in ipairs(own) do
      one.name = #own == 1 and one.module or ("%s.%d"):format(one.module, number)
    end
  end
  return list, tuned
end


-- Stages, { name, tags (of the ranges that are its executions), once (nothing of it counts) }: the
-- programs that take most of the GPU in the order in which they first ran, and what the autotuner
-- tried; empty where XLA ran nothing.
local function xla_stages(trace)
  local programs, tuned = programs_of(trace)
  if #programs == 0 then return {} end
  local ops = check(trace:frame "gpu")
  local labels = lists.flat(programs, function(one)
    return lists.map(one.tags, function(tag) return { tag, one.name } end)
  end)
  check(trace:label(ops, "program", labels))
  local times = rows.by(ops, "program", { total = { "duration" } })
  local function time_of(one) return times[one.name] and times[one.name].duration.total or 0 end
  local all = lists.sum(programs, time_of)
  local list = lists.map(programs, function(one)
    return time_of(one) >= LEAST_SHARE * all and { name = one.name, tags = one.tags } or nil
  end)
  if #tuned > 0 then list[#list + 1] = { name = AUTOTUNING, tags = tuned, once = true } end
  return list
end


-- Declared stages, those that are called like XLA's with the tags of these.
function outermost.resolve(trace, declared)
  local known
  return lists.map(declared, function(stage)
    if stage.tags or stage.parent then return stage end
    known = known or xla_stages(trace)
    return lists.find(known, "name", stage.name) or stage
  end)
end


-- ---- stages ----

-- What ranges of steps are called: right inside a stage, again and again.
local STEPS = { "%f[%a]steps?%f[%A]", "%f[%a]tokens?%f[%A]", "%f[%a]iter%f[%A]",
  "%f[%a]iterations?%f[%A]" }

-- That often in a stage, or more, on the mean.
local LEAST_STEPS = 4

-- The tag of the ranges that mark the steps of a stage, in its domain, where there are such: a
-- decode's by name, of others what lies right inside, most often. A prefill's parts are no steps.
local function step_of(ranges, tag, domain)
  local role = range_name.role(tag)
  for _, ending in ipairs(role == "decode" and { "_step", "_STEP" } or {}) do
    if #ranges:where { tag = tag .. ending } > 0 then return tag .. ending end
  end
  if role == "prefill" then return nil end
  local best, most = nil, LEAST_STEPS * #ranges:where { tag = tag }
  for _, entry in ipairs(inside_tag(ranges, tag, domain)) do
    local lower = entry.tag:lower()
    local is_step = lists.any(STEPS, function(word) return lower:find(word) end)
    local count = is_step and #ranges:where { tag = entry.tag } or 0
    if count > most or count == most and not best then best, most = entry.tag, count end
  end
  return best
end


-- The ranges right inside a stage, or its steps, in which a small model drafts tokens, as a part of
-- it.
local function add_drafts(ranges, declared, stage)
  for _, tag in ipairs(stage.step and { stage.step } or stage.tags or { stage.name }) do
    for _, entry in ipairs(inside_tag(ranges, tag)) do
      if entry.tag:lower():find "%f[%a]draft" and not is_engines(entry.tag) then
        declared[#declared + 1] = { name = entry.tag, parent = stage.name }
        return
      end
    end
  end
end


-- Was the range around those at the top cut off by the begin of the capture? Ranges of a tag that
-- lie in another one's are at the top before the first of these alone.
local function was_cut(ranges, tag, outer)
  local last = ranges:where { tag = tag, level = 0 }:group { total = { "start" } }[1]
  local first = ranges:where { tag = outer, level = 0 }:group { total = { "start" } }[1]
  return last.start.max < first.start.min
end


-- Tags without those that would be inside of another one if the capture had begun earlier.
local function without_cut(ranges, tags, domain)
  local inside = {}
  for _, outer in ipairs(#tags > 1 and tags or {}) do
    for _, entry in ipairs(inside_tag(ranges, outer.tags or outer.tag, domain)) do
      inside[entry.tag] = outer.tags or outer.tag
    end
  end
  return lists.filtered(tags, function(entry)
    return not (inside[entry.tag] and was_cut(ranges, entry.tag, inside[entry.tag]))
  end)
end


-- Stages as a recipe would declare them, in the order in which they first begin;
-- empty where there are no such ranges, or more texts than stages could have. True behind
-- them where they are no more than the steps of torch.profiler's schedule.
function outermost.stages(trace)
  local ranges = check(trace:frame "ranges")
  local domain = main_domain(by_domain(ranges, PUSH_POP))
    or main_domain(by_domain(ranges, START_END))
  local name = domain and domain.name ~= "" and domain.name or nil
  local tags, only_steps = within_steps(ranges, domain and domain.tags or {})
  if not only_steps then tags = within_one(ranges, tags, name) end
  if #tags > MOST_STAGES then return {} end
  tags = without_cut(ranges, tags, name)
  if #tags == 0 then return xla_stages(trace) end
  local declared = lists.map(lists.sort(tags, "first", "tag"), function(entry)
    return { name = entry.tag, tags = entry.tags, step = step_of(ranges, entry.tag, name) }
  end)
  for i = 1, #declared do add_drafts(ranges, declared, declared[i]) end
  return declared, only_steps
end


-- The same; without any, or where they are steps alone, those that can be inferred.
function outermost.or_inferred(trace)
  local declared, only_steps = outermost.stages(trace)
  local inferred = { { name = "prefill" }, { name = "decode" } }
  if #declared == 0 or only_steps and infer.stages(trace, inferred) then return inferred end
  return declared
end


-- ---- unmatched ----

-- Ranges of a trace that are no stage of the recipe, where one of its stages is missing: the
-- longest, and which may be meant.

-- Tags that are looked at, those told, and the fewest letters that a tag and a name share at their
-- beginning to be alike.
local LOOKED_AT, MOST_TOLD, LEAST_LETTERS = 16, 4, 3


-- Tags of ranges that are no stage, and in none, the longest in all first. declared: stages of the
-- recipe.
function outermost.unmatched(trace, declared)
  local ranges = check(trace:frame "ranges")
  check(trace:label(ranges, "declared", lists.flat(declared, function(stage)
    return stage.tags or { stage.name }
  end)))
  local groups = check(ranges:where { { "tag", "~=", false }, declared = false })
    :group { by = { "tag" }, total = { "duration" } }
  lists.sort(groups, function(group) return -group.duration.total end, "tag")
  return lists.map(lists.first(groups, LOOKED_AT), "tag")
end


-- The tag that a name of a stage may mean: spelled nearly like it, or its beginning.
local function meant(tags, name)
  return keys.nearest(name, tags) or lists.filtered(tags, function(tag)
    local count = math.min(#tag, #name)
    return count >= LEAST_LETTERS and tag:sub(1, count):lower() == name:sub(1, count):lower()
  end)[1]
end


-- "it has 'dec', 'load'; did you mean 'dec'?"; nil without ranges.
-- tags: of outermost.unmatched; name: of a missing stage, or nil.
function outermost.unmatched_words(tags, name)
  if #tags == 0 then return nil end
  local said = lists.map(lists.first(tags, MOST_TOLD), function(tag) return "'" .. tag .. "'" end)
  local tag = name and meant(tags, name)
  return "it has " .. table.concat(said, ", ")
    .. (tag and ("; did you mean '%s'?"):format(tag) or "")
end


return outermost
