-- The run as a list of steps. A step is a file in lua/llmprof/run/steps:
--
--   name       what the manifest and the terminal call it
--   summary    what it does, in a line
--   requires   names of steps that must have succeeded (optional)
--   reads      fields of ctx.state that it reads (optional)
--   gives      fields that it sets: name -> what it is (optional); a field that is
--              not known then is nil
--   needs      files of the bundle it reads (optional)
--   makes      files it writes: it is done when they are there
--   belongs(cfg)  is it a step of such a run at all (optional)
--   left_out(ctx)  why it is not run at all, which is no failure, and what would
--              have it run; nil when it is run (optional)
--   dispensable  reports can do without it: when it is interrupted what is there is
--              still analysed, and no other dispensable step is begun
--   run(ctx, done)  does it; returns a note for people. done: what work(ctx) returned; nil
--              where it was not called
--   work(ctx)  what of it may be done in another process, beside later steps, which begins
--              with all that the run has then: it writes files, sets no state, tells
--              nothing, and returns a value of packed_tree, not nil (optional). No later
--              step requires it; what one reads of it is waited for
--   separable(ctx)  may work(ctx) be done so this time (optional)
--   restore(ctx)  sets what it gives from its files, when it is kept and a later
--              step reads it; each that gives something has one
--   stale(ctx) must it run again although its files are there (optional)
--
-- ctx is shared by all steps: recipe, config (composed), cfg (its tree), run
-- (artifacts), state (a view of what steps leave for later ones: llmprof.process.dataflow).
-- A step may call ctx.progress(text) while it works and ctx.tick() while it waits,
-- ctx.command(argv) for each command it starts and ctx.output(line) for what that
-- prints, ctx.note(text) and ctx.time(what, seconds) for the manifest, ctx.lack(what,
-- why, how) for what the results will not have, ctx.fail_later(kind, message) for a
-- failure that need not stop the run, and add to ctx.outputs (files of the bundle).
--
-- A step that fails or is left out does not stop those that do not require it. When
-- one fails the run is failed, with the first failure's message and exit status.
--
-- When a run is resumed, a step is kept if it was done, its files are there and none
-- of what it reads is newer or was made again; else it runs.
local clock = require "llmprof.io.clock"
local dataflow = require "llmprof.process.dataflow"
local errors = require "llmprof.process.errors"
local frames = require "llmprof.frame"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local sys = require "llmprof.sys"
local layout = require "llmprof.bundle.layout"
local process_pool = require "llmprof.process.pool"
local lists = require "llmprof.tables.lists"

local pipeline = {}


-- In this order.
pipeline.steps = { "plan", "tools", "timeline", "alone", "ranks", "export", "select", "counters",
  "operators", "analyse", "render" }

-- What is there before any step: what is not in the results, and why, by ctx.lack.
local INPUTS = { missing = true }


-- The steps, in order.
function pipeline.load()
  return lists.map(pipeline.steps, function(name)
    return require("llmprof.run.steps." .. name)
  end)
end


-- Those of a run of this configuration.
function pipeline.of(cfg)
  return lists.filtered(pipeline.load(), function(step)
    return not step.belongs or step.belongs(cfg)
  end)
end


-- ---- resuming ----

-- When those of some files that are there were last changed.
local function times_of(run, names)
  return lists.map(names or {}, function(name)
    local info = fs.stat(run:path(name))
    return info and info.mtime_ns
  end)
end


-- May the step be left out: it was done, its files are there, and none of what
-- it reads has changed since, in this run or by an earlier step.
local function is_done(ctx, step)
  local before = ctx.run:recorded(step.name)
  if not ctx.resume or not before or before.status ~= "done" then return false end
  local stands_on = lists.joined(step.requires or {},
    lists.map(dataflow.sources(step, ctx.givers), "name"))
  if lists.any(stands_on, function(name) return ctx.redone[name] end)
    or step.stale and step.stale(ctx) then return false end
  local made = times_of(ctx.run, step.makes)
  return #made == #step.makes
    and math.max(0, table.unpack(times_of(ctx.run, step.needs))) <= math.min(math.huge,
      table.unpack(made))
end


-- See through the step of this name that is worked on in another process, if it is, and those
-- before it; without a name all.
local function await(ctx, name)
  while ctx.apart[1] and (not name or lists.find(ctx.apart, "name", name)) do
    local step = table.remove(ctx.apart, 1)
    local ok, value = ctx.pool:take(1)
    ctx.see_apart(step, ok and value or nil)
  end
end


-- Calls what(ctx, ...) with the state as the step may use it: what a step that is worked on
-- elsewhere gives is there once that is seen through.
local function with_view(ctx, step, what, ...)
  local around = ctx.state
  ctx.state = dataflow.view(ctx.fields, step, function(field)
    local giver = ctx.givers[field]
    if giver then await(ctx, giver.name) end
  end)
  local result, more = what(ctx, ...)
  ctx.state = around
  return result, more
end


-- Sets what kept steps give and this one reads, which may stand on others.
local function restore_for(ctx, step)
  for _, giver in ipairs(dataflow.sources(step, ctx.givers)) do
    if ctx.kept[giver.name] then
      ctx.kept[giver.name] = nil
      restore_for(ctx, giver)
      with_view(ctx, giver, giver.restore)
    end
  end
end


-- A field of the state when all steps are through; nil when it was not found out.
function pipeline.field(ctx, name)
  restore_for(ctx, { reads = { name } })
  return ctx.fields[name]
end


-- ---- running ----

local function elapsed(from) return (sys.monotonic() - from) / 1e9 end


local function remove_outputs(ctx, step)
  for _, name in ipairs(step.makes) do fs.remove(ctx.run:path(name)) end
end


-- The context of a step while it runs: its own, also where another runs around it.
local function context_of(ctx, step, ui, from)
  local own = { outputs = {}, commands = json.list {}, times = {}, notes = json.list {} }
  function own.progress(text) ui.progress(step.name, elapsed(from), text) end
  function own.tick() ui.tick(step.name, elapsed(from)) end
  function own.output(line) ui.output(line) end
  function own.command(argv)
    table.insert(own.commands, json.list(argv))
    ui.command(argv)
  end
  function own.time(what, took) own.times[what] = math.floor(took * 1000 + 0.5) / 1000 end
  function own.note(text) table.insert(own.notes, text) end
  function own.lack(what, why, how)
    table.insert(ctx.fields.missing, { what = what, why = why, how = how })
  end
  function own.fail_later(kind, message, fields)
    ctx.failed_later(kind, message, fields)
    own.note(message)
  end
  return setmetatable(own, { __index = ctx, __newindex = ctx })
end


-- Run a step and return its manifest entry and, if it failed, the error. before: of the work
-- that was done already, { done, ns }, or nil.
local function run_step(ctx, step, ui, before)
  local started, from = clock.timestamp(), sys.monotonic() - (before and before.ns or 0)
  local own = context_of(ctx, step, ui, from)
  local ok, result = errors.call(function()
    restore_for(own, step)
    -- what an earlier attempt left is not this one's
    if not before then remove_outputs(own, step) end
    return with_view(own, step, step.run, before and before.done)
  end)
  frames.tidy() -- what only this step looked at is in nobody's way
  local left = lists.filtered(own.outputs, function(name)
    return not lists.has(step.makes, name)
  end)
  local entry = {
    name = step.name,
    status = ok and "done" or "failed",
    started = started,
    seconds = math.floor(elapsed(from) * 1000 + 0.5) / 1000,
    inputs = ctx.run:sizes(step.needs),
    outputs = ctx.run:sizes(lists.joined(step.makes, left)),
    commands = #own.commands > 0 and own.commands or nil,
    notes = #own.notes > 0 and own.notes or nil,
    times = next(own.times) and own.times,
  }
  if ok then
    entry.note = result
  else
    entry.message, entry.hint = result.message, result.hint
    if result.detail then entry.last_lines = json.list {} end
    for line in (result.detail or ""):gmatch "[^\n]+" do table.insert(entry.last_lines, line) end
  end
  return entry, not ok and result or nil
end


-- Run a step, write it down and tell of it; returns the error if it failed.
local function see_through(ctx, step, ui, before)
  ctx.redone[step.name] = true
  ui.begin(step.name)
  local entry, err = run_step(ctx, step, ui, before)
  ctx.run:record(entry, pipeline.steps)
  if err then
    ui.failed(step.name, entry.seconds, err)
  else
    ui.done(step.name, entry.seconds, entry.note)
  end
  return err
end


-- What becomes of a step: "kept", "run", or "skipped", why, a hint, and what it came to.
-- course: unmade (name of a step that did not succeed -> what it came to), interrupted.
local function fate_of(ctx, step, course)
  for _, name in ipairs(step.requires or {}) do
    local came_to = course.unmade[name]
    if came_to then
      return "skipped", ("needs the step '%s', which %s"):format(name, came_to), nil, came_to
    end
  end
  local why, hint
  if course.interrupted and step.dispensable then
    why = "interrupted"
  elseif is_done(ctx, step) then
    return "kept"
  elseif step.left_out then
    restore_for(ctx, step)
    why, hint = with_view(ctx, step, step.left_out)
  end
  if why then return "skipped", why, hint, "was left out" end
  return "run"
end


-- Keep, skip or run a step; returns the error if it failed.
local function take(ctx, step, course, ui)
  local fate, why, hint, came_to = fate_of(ctx, step, course)
  if fate == "run" then return see_through(ctx, step, ui) end
  if fate == "kept" then
    ctx.kept[step.name] = true
    return ui.kept(step.name)
  end
  course.unmade[step.name] = came_to
  ctx.run:record({ name = step.name, status = "skipped", message = why, hint = hint },
    pipeline.steps)
  ui.skipped(step.name, why)
end


-- Did a run fail before there was anything to keep: did it begin none but the steps that
-- get ready?
function pipeline.is_unbegun(run)
  for _, name in ipairs(pipeline.steps) do
    local entry = run:recorded(name)
    if entry and entry.status ~= "skipped" and name ~= "plan" and name ~= "tools" then
      return false
    end
  end
  return true
end


-- ---- beside each other ----

-- Bytes of a timeline below which a process costs more than it saves. Tests change this.
pipeline.LEAST = 64 << 20

-- Memory that looking at a timeline twice at once takes, of each look, as a multiple of its size,
-- with as much to spare.
local WEIGHT = 1.5


-- Begin elsewhere, once, with the steps from this place on that can be worked on there while those
-- behind run here: ctx.apart. One is seen through here, in its order, when a later step reads what
-- it gives, and the rest at the end.
local function begin_apart(ctx, steps, place, course)
  local info = fs.stat(ctx.run:path(layout.timeline))
  if not steps[place].work or ctx.is_divided or not info or info.size < pipeline.LEAST
    or process_pool.count(2, WEIGHT * info.size) < 2 then
    return
  end
  local list = {}
  for i = place, #steps do
    local step = steps[i]
    if not step.work then break end
    restore_for(ctx, step)
    if fate_of(ctx, step, course) == "run"
      and (not step.separable or with_view(ctx, step, step.separable)) then
      list[#list + 1] = step
    end
  end
  if #list == 0 then return end
  ctx.is_divided, ctx.pool = true, process_pool.begin { lists.map(list, function(step)
    return function()
      local from = sys.monotonic()
      remove_outputs(ctx, step)
      local done = with_view(ctx, step, step.work)
      frames.tidy() -- for the next one
      return { done = done, ns = sys.monotonic() - from }
    end
  end) }
  ctx.apart = list
  for _, step in ipairs(list) do ctx.redone[step.name] = true end
end


-- Run all steps. ui: begin(name), progress(name, seconds, text), tick(name,
-- seconds), command(argv), output(line), done(name, seconds, note), failed(name,
-- seconds, error), kept(name), skipped(name, why).
-- Returns the first error or nil, an interrupt before any other; the manifest is
-- finished either way.
function pipeline.run(ctx, ui)
  local course, first, steps = { unmade = {} }, nil, pipeline.of(ctx.cfg)
  ctx.givers, ctx.redone, ctx.kept = dataflow.givers(pipeline.load(), INPUTS), {}, {}
  ctx.fields = { missing = {} }
  function ctx.failed_later(...)
    local _, err = pcall(errors.raise, ...)
    first = first or err
  end
  ctx.apart, ctx.pool = {}, process_pool.begin {} -- nothing yet
  local ending <close> = setmetatable({}, { -- luacheck: ignore 211
    __close = function() ctx.pool:close() end })
  local function note(err, step)
    if err then course.unmade[step.name] = "failed" end
    if err and err.kind == "interrupted" then course.interrupted, first = true, err end
    first = first or err
    return err and err.kind == "interrupted" and not step.dispensable
  end
  function ctx.see_apart(step, before) note(see_through(ctx, step, ui, before), step) end
  for place, step in ipairs(steps) do
    begin_apart(ctx, steps, place, course)
    local is_apart = lists.find(ctx.apart, "name", step.name)
    if not is_apart and note(take(ctx, step, course, ui), step) then
      ctx.pool:close()
      ctx.apart = {} -- what is not seen through yet never is
      break
    end
  end
  await(ctx)
  local status = first and (course.interrupted and "interrupted" or "failed") or "done"
  ctx.run:finish(status, first and first.message)
  return first
end


return pipeline
