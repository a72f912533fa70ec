-- What is kept of one trace: its ranks, steps, collectives and kernels as frames of
-- their own, small beside the trace, which can be closed afterwards.
local collectives = require "llmprof.ranks.collectives"
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local members = require "llmprof.ranks.members"
local merge = require("llmprof.tables.keys").merged
local pack = require "llmprof.pack"
local pipeline = require "llmprof.ranks.pipeline"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"
local steps = require "llmprof.ranks.steps"

local part = {}

part.frames = { "steps", "collectives", "kernels", "busy" }

-- Their columns.
local columns = { steps = steps.kept, collectives = collectives.kept,
  kernels = { "rank", "name", "short_name", "duration", "count" },
  busy = { "rank", "start", "end" } }

local TEXTS = { phase = true, name = true, short_name = true, said = true }

local function type_of(name) return TEXTS[name] and "string" or "integer" end

-- First line of a part's file.
local MAGIC = "llmprof part 3\n"


-- ---- steps ----

-- What each step is called by, beside its phase: batch, tokens, and `turn`, its number
-- among those of its phase since the last one of another, from 0.
local function name_steps(made)
  rows.extend(made, { "phase", "context", "context_tokens", "generation", "generation_tokens" }, {
    { name = "batch", type = "integer", get = function(key)
      return key.context and key.generation and key.context + key.generation end },
    { name = "tokens", type = "integer", get = function(key)
      return key.context_tokens and (key.context_tokens + (key.generation_tokens
        or key.generation or 0)) end },
    { name = "is_decode", type = "integer", get = function(key)
      return key.phase == "decode" and 1 or 0 end },
  })
  local others = made:where { is_decode = 0 }
  local at = { start = "start", ["end"] = "next_run", key = "rank" }
  spans.until_next(others, at, "next_run")
  spans.assign(made, { time = "start", key = "rank" }, others, at, "run")
  rows.extend(made, { "run", "is_decode" }, { { name = "run_key", type = "integer",
    get = function(key) return (key.run or -1) * 2 + key.is_decode end } })
  require("llmprof.collectives").number(made, { rank = "rank", start = "start",
    ["end"] = "end", key = "run_key" }, "turn")
  return made
end


-- Steps that are intervals on their rank, as they were inferred.
local function of_intervals(list)
  local made = lists.map({ "context", "context_tokens", "generation", "generation_tokens" },
    function(name) return { name = name, type = "integer", values = {} } end)
  return require("llmprof.frame").new(#list, lists.joined({
    { name = "start", type = "integer", unit = "ns", values = lists.map(list, "start") },
    { name = "end", type = "integer", unit = "ns", values = lists.map(list, "stop") },
    { name = "phase", type = "string", values = lists.map(list, "phase") },
    { name = "rank", type = "integer", values = lists.map(list, "rank") } }, made))
end


-- The steps of all ranks that can be inferred, and how many of start-up are left out.
local function inferred(trace, list, given)
  local all, left_out = {}, 0
  for _, member in ipairs(given.infer and list or {}) do
    local own = given.infer(trace, member, #list == 1)
    left_out = left_out + (own.left_out or 0)
    for _, step in ipairs(own) do step.rank = member.rank end
    lists.add(all, own)
  end
  return all, left_out
end


-- ---- operations ----

local function label(list, frame, known)
  members.label_ops(list, frame)
  if known then return steps.assign(frame, known.frame, known.time) end
  return frame
end


-- Add the communicator and the bytes that NCCL said of the call that launched each
-- kernel; absent where it said nothing.
local function add_messages(trace, kernels)
  local ranges = errors.check(trace:frame "ranges")
  for _, name in ipairs { "communicator", "message" } do
    spans.look_up(kernels, "range", ranges, name, name)
  end
end


-- NCCL's communicators and PyTorch's process groups: list of { id, size (of how many ranks it is,
-- where a call says so), ranks (that ran collectives of it) }; nil without any.
local function communicators_of(trace, found)
  local list, known = json.list {}, {}
  local function entry(communicator)
    local id = ("%016x"):format(communicator) -- JSON numbers do not hold 64 bits
    return lists.entry(list, known, id, { id = id, ranks = json.list {} })
  end
  local with_id = found:where { { "communicator", "~=", false } }
  for _, group in ipairs(with_id:group { by = { "communicator", "rank" } }) do
    table.insert(entry(group.communicator).ranks, group.rank)
  end
  local made = errors.check(trace:frame "ranges"):where { { "communicator", "~=", false },
    { "payload", ">", 0 } }
  for _, group in ipairs(made:group { by = { "communicator", "payload" } }) do
    entry(group.communicator).size = group.payload
  end
  return #list > 0 and list or nil
end


-- Kernels with their rank, step, phase, and whether they are a collective's.
local function labelled_kernels(trace, list, known, given)
  trace:renew "kernels" -- what is worked out for these alone
  local kernels = label(list, errors.check(trace:frame "kernels"), known)
  given.mark_collectives(kernels, "name", "collective")
  rows.add(kernels, "work", { "collective" }, function(key)
    return key.collective == 1 and 1 or 0
  end)
  collectives.add_p2p(kernels)
  add_messages(trace, kernels)
  return kernels
end


-- How often each kernel took how many ns, by rank.
local function counted_kernels(kernels)
  return errors.check(kernels:where({ { "rank", "~=", false } }):group {
    by = { "rank", "name", "short_name", "duration" }, columns = { { "count", "count" } } })
end


-- The columns of these names, in memory of their own; those that the frame lacks hold nothing.
local function kept(frame, names)
  for _, name in ipairs(names) do
    if not rows.has(frame, name) then
      rows.extend(frame, {}, { { name = name, type = type_of(name) } })
    end
  end
  return pack.join { errors.check(frame:select(names)) }
end


-- Time of processes in ranges of MPI's calls, which end once other ranks are there: by pid, ns.
local function mpi_times(trace)
  local times = {}
  for _, group in ipairs(errors.check(trace:frame "ranges"):group { by = { "pid", "tag" },
    total = { "duration" } }) do
    if group.pid and (group.tag or ""):find "^MPI_%u" then
      times[group.pid] = (times[group.pid] or 0) + group.duration.total
    end
  end
  return times
end


local function described(trace, list)
  local mpi = mpi_times(trace)
  return json.list(lists.map(list, function(member)
    local device = lists.find(trace:devices(), "id", member.device)
    return merge(member, { gpu = device and device.name, mpi_ns = mpi[member.pid] })
  end))
end


-- The ranks of a trace, and how its steps are known: { source, engine, frame (not measured), time
-- (the column of an operation that says in which it is) }; nil where they are not.
function part.find_steps(trace, given)
  local list = members.find(trace)
  local found = members.find_labels(trace, given.marks)
  if found then
    return list, { source = found.source, engine = found.engine and found.engine.name,
      time = "api_start",
      frame = steps.close(steps.of_labels(trace, list, found.steps), found.enclosed) }
  end
  local intervals, left_out = inferred(trace, list, given)
  if #intervals == 0 then return list, nil end
  return list, { source = "inferred", time = "start", startup_steps = left_out > 0 and left_out
    or nil, frame = steps.close(of_intervals(intervals), true) }
end


-- The same with all measures of the steps.
function part.steps(trace, given)
  local list, known = part.find_steps(trace, given)
  if not known then return list, nil end
  local ops = label(list, errors.check(trace:frame "gpu"), known)
  steps.label_work(ops, given.mark_collectives)
  local api = steps.api(trace, list, given.class_of)
  steps.measure(known.frame, list, ops, api)
  if known.source == "labels" then
    known.idle_threads = steps.idle_threads(known.frame, trace, list, api)
  end
  ops:close()
  api:close()
  name_steps(known.frame)
  return list, known
end


-- Processes that launch, and how many of them have no operation of a GPU: its activity was not
-- recorded there. { count, of }; nil where there are none, or nothing says whose operations are.
local function unserved(trace)
  if trace:knows "calls" == false then return nil end
  local served = rows.by(errors.check(trace:frame "gpu"), "pid")
  local launches = lists.filtered(errors.check(trace:frame "api"):group { by = { "pid", "name" } },
    function(row) return row.name and row.name:find "Launch" end)
  local launching = lists.grouped(launches, function(row) return row.pid or false end)
  local alone = lists.filtered(launching, function(own) return not served[own[1].pid or false] end)
  return #alone > 0 and { count = #alone, of = #launching } or nil
end


-- Of one trace: { about, steps (nil where none are known), collectives, kernels, busy (of
-- pipeline.busy; nil without sends and receives) }.
-- file: what it is called. given: mark_collectives (see steps.label_work),
-- class_of (of an API call's), marks (tag -> phase, nil: the usual names), infer
-- (a function of the trace, a member and whether it is the only one: list of { start, stop,
-- phase }, with `left_out`, how many of start-up are not among them; nil: nothing is
-- inferred).
function part.of(trace, file, given)
  local list, known = part.steps(trace, given)
  local kernels = labelled_kernels(trace, list, known, given)
  if known then
    steps.add_graph(known.frame, kernels)
    spans.look_up(kernels, "step", known.frame, "turn", "turn")
  end
  local found = collectives.of_kernels(kernels, list)
  if known then collectives.place(found) end
  local busy = pipeline.busy(kernels, found, list)
  if busy then -- what the range around the launch of a collective says ("ncclSend")
    spans.look_up(found, "range", errors.check(trace:frame "ranges"), "text", "said")
  end
  local about = { file = file, epoch = trace:info().epoch, ranks = described(trace, list),
    source = known and known.source,
    engine = known and known.engine, startup_steps = known and known.startup_steps,
    idle_threads = known and known.idle_threads and json.list(known.idle_threads),
    unserved = unserved(trace), communicators = communicators_of(trace, found) }
  local made = { about = about, steps = known and kept(known.frame, columns.steps),
    collectives = kept(found, columns.collectives),
    kernels = kept(counted_kernels(kernels), columns.kernels),
    busy = busy and kept(busy, columns.busy) }
  kernels:close()
  return made
end


-- A part as bytes, the same for the same trace everywhere; and those of its frames alone.
function part.encode(made)
  local packed, sizes = {}, {}
  for i, name in ipairs(part.frames) do
    packed[i] = made[name] and pack.encode(made[name]) or ""
    sizes[i] = #packed[i]
  end
  local head = errors.check(json.encode { about = made.about, sizes = json.list(sizes) })
  local frames = table.concat(packed)
  return MAGIC .. head .. "\n" .. frames, frames
end


-- ---- bytes that may be a stranger's ----

-- Further off no time of a capture is: ns, some 36 years.
local FAR = 1 << 60


-- What is in every row of a frame that has such a column, and no less than this; ns, and how often.
local LEAST = { start = -FAR, ["end"] = -FAR, duration = 0, count = 1 }


-- Has every row of a column a number, and one that can be?
local function are_numbers(frame, name, least)
  return #errors.check(frame:where { { name, ">=", least }, { name, "<=", FAR } }) == #frame
end


-- What is wrong with a frame of a part: columns that it lacks, a rank that the head does not tell
-- of, numbers that cannot be; nil for nothing.
local function wrong_in(frame, name, about)
  local there, known = frame:columns(), lists.set(lists.map(about.ranks, "rank"))
  for i, column in ipairs(columns[name]) do
    if not there[i] or there[i].name ~= column or there[i].type ~= type_of(column) then
      return ("no column '%s' of type %s"):format(column, type_of(column))
    end
    if LEAST[column] and not are_numbers(frame, column, LEAST[column]) then
      return ("impossible numbers in '%s'"):format(column)
    end
  end
  for _, row in ipairs(frame:group { by = { "rank" } }) do
    if not known[row.rank or false] then return ("no rank %s"):format(row.rank) end
  end
  return nil
end


-- A frame of a part, or nil and what is wrong with it.
local function decode_frame(bytes, name, about)
  local frame, message = pack.decode(bytes)
  local wrong = frame and wrong_in(frame, name, about)
  if not frame or wrong then return nil, message or ("%s: %s"):format(name, wrong) end
  return frame
end


-- A part from such bytes; nil and what is wrong with them.
function part.decode(bytes)
  if bytes:sub(1, #MAGIC) ~= MAGIC then
    return nil, bytes:find "^llmprof part %d" and "a part of another llmprof: make it again"
      or "not a part that llmprof wrote"
  end
  local line, at = bytes:match("^([^\n]*)\n()", #MAGIC + 1)
  local head = line and json.decode(line)
  if not head then return nil, "its head is broken" end
  local offence = document.check("part", head)
  if offence then return nil, "its head: " .. offence end
  local made = { about = head.about }
  for i, name in ipairs(part.frames) do
    local size = head.sizes[i]
    if at + size - 1 > #bytes then return nil, "it is cut" end
    if size > 0 then
      local frame, message = decode_frame(bytes:sub(at, at + size - 1), name, head.about)
      if not frame then return nil, message end
      made[name] = frame
    end
    at = at + size
  end
  if not made.collectives or not made.kernels then return nil, "it is cut" end
  return made
end


return part
