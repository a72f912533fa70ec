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
--   run(ctx)   does it; returns a note for people
--   restore(ctx)  sets what it gives from its files, when it is kept and a later
--              step reads it; each that gives something has one
--   stale(ctx) must it run again although its files are there (optional)
--
-- ctx is shared by all steps: recipe, config (composed), cfg (its tree), run
-- (artifacts), state (a view of what steps leave for later ones: llmprof.run.state).
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
local clock = require "llmprof.base.clock"
local errors = require "llmprof.base.errors"
local frames = require "llmprof.frame"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local run_state = require "llmprof.run.state"
local sys = require "llmprof.sys"

local pipeline = {}

-- In this order.
pipeline.steps = { "plan", "tools", "timeline", "alone", "ranks", "export", "select", "counters",
  "operators", "analyse", "render" }


-- The steps, in order.
function pipeline.load()
  local list = {}
  for i, name in ipairs(pipeline.steps) do list[i] = require("llmprof.run.steps." .. name) end
  return list
end


-- Those of a run of this configuration.
function pipeline.of(cfg)
  local list = {}
  for _, step in ipairs(pipeline.load()) do
    if not step.belongs or step.belongs(cfg) then list[#list + 1] = step end
  end
  return list
end


-- ---- resuming ----

local function newest(run, names)
  local time = 0
  for _, name in ipairs(names or {}) do
    local info = fs.stat(run:path(name))
    if info then time = math.max(time, info.mtime_ns) end
  end
  return time
end


-- The oldest of the files that a step makes; nil when one is not there.
local function oldest(run, names)
  local time = math.huge
  for _, name in ipairs(names) do
    local info = fs.stat(run:path(name))
    if not info then return nil end
    time = math.min(time, info.mtime_ns)
  end
  return time
end


-- Has one of the steps that it stands on run again?
local function is_behind(ctx, step)
  for _, name in ipairs(step.requires or {}) do
    if ctx.redone[name] then return true end
  end
  for _, giver in ipairs(run_state.sources(step, ctx.givers)) do
    if ctx.redone[giver.name] then return true end
  end
  return false
end


-- May the step be left out: it was done, its files are there, and none of what
-- it reads has changed since, in this run or by an earlier step.
local function is_done(ctx, step)
  local before = ctx.run:recorded(step.name)
  if not ctx.resume or not before or before.status ~= "done" then return false end
  if is_behind(ctx, step) or (step.stale and step.stale(ctx)) then return false end
  local made = oldest(ctx.run, step.makes)
  return made ~= nil and newest(ctx.run, step.needs) <= made
end


-- Calls what(ctx) with the state as the step may use it.
local function with_view(ctx, step, what)
  local around = ctx.state
  ctx.state = run_state.view(ctx.fields, step)
  local result, more = what(ctx)
  ctx.state = around
  return result, more
end


-- Sets what kept steps give and this one reads, which may stand on others.
local function restore_for(ctx, step)
  for _, giver in ipairs(run_state.sources(step, ctx.givers)) do
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

-- What a step that it requires and that did not succeed came to, and that in a
-- sentence; nil when all did. unmade: name of such a step -> what it came to.
local function unmet(step, unmade)
  for _, name in ipairs(step.requires or {}) do
    local fate = unmade[name]
    if fate then return fate, ("needs the step '%s', which %s"):format(name, fate) end
  end
  return nil
end


-- Why a step is left out, and what would have it run.
local function left_out(ctx, step)
  if not step.left_out then return nil end
  restore_for(ctx, step)
  return with_view(ctx, step, step.left_out)
end


local function elapsed(from)
  return (sys.monotonic() - from) / 1e9
end


local function lines_of(detail)
  local lines = json.list {}
  for line in detail:gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines
end


-- What a step makes, and what else it left, each once.
local function all_outputs(step, others)
  local list, seen = {}, {}
  for _, names in ipairs { step.makes, others } do
    for _, name in ipairs(names) do
      if not seen[name] then seen[name], list[#list + 1] = true, name end
    end
  end
  return list
end


-- Run a step and return its manifest entry and, if it failed, the error.
local function run_step(ctx, step, ui)
  local started, from, notes = clock.timestamp(), sys.monotonic(), json.list {}
  local commands, times = json.list {}, {}
  ctx.outputs = {}
  function ctx.progress(text) ui.progress(step.name, elapsed(from), text) end
  function ctx.tick() ui.tick(step.name, elapsed(from)) end
  function ctx.output(line) ui.output(line) end
  function ctx.command(argv)
    commands[#commands + 1] = json.list(argv)
    ui.command(argv)
  end
  function ctx.time(what, took) times[what] = math.floor(took * 1000 + 0.5) / 1000 end
  function ctx.note(text) notes[#notes + 1] = text end
  function ctx.lack(what, why, how)
    table.insert(ctx.fields.missing, { what = what, why = why, how = how })
  end
  local ok, result = errors.call(function()
    restore_for(ctx, step)
    -- what an earlier attempt left is not this one's
    for _, name in ipairs(step.makes) do fs.remove(ctx.run:path(name)) end
    return with_view(ctx, step, step.run)
  end)
  frames.tidy() -- what only this step looked at is in nobody's way
  local entry = {
    name = step.name,
    status = ok and "done" or "failed",
    started = started,
    seconds = math.floor(elapsed(from) * 1000 + 0.5) / 1000,
    inputs = ctx.run:sizes(step.needs),
    outputs = ctx.run:sizes(all_outputs(step, ctx.outputs)),
  }
  if #commands > 0 then entry.commands = commands end
  if #notes > 0 then entry.notes = notes end
  if next(times) then entry.times = times end
  if ok then
    entry.note = result
  else
    entry.message, entry.hint = result.message, result.hint
    entry.last_lines = result.detail and lines_of(result.detail)
  end
  return entry, not ok and result or nil
end


local function skip_step(ctx, step, message, hint, ui)
  ctx.run:record { name = step.name, status = "skipped", message = message, hint = hint }
  ui.skipped(step.name, message)
end


-- Run a step, write it down and tell of it; returns the error if it failed.
local function see_through(ctx, step, ui)
  ctx.redone[step.name] = true
  ui.begin(step.name)
  local entry, err = run_step(ctx, step, ui)
  ctx.run:record(entry)
  if err then
    ui.failed(step.name, entry.seconds, err)
  else
    ui.done(step.name, entry.seconds, entry.note)
  end
  return err
end


-- Keep, skip or run a step; returns the error if it failed. course: unmade (of unmet),
-- interrupted.
local function take(ctx, step, course, ui)
  local fate, why = unmet(step, course.unmade)
  if not fate and course.interrupted and step.dispensable then why = "interrupted" end
  if not why and is_done(ctx, step) then
    ctx.kept[step.name] = true
    return ui.kept(step.name)
  end
  local hint
  if not why then why, hint = left_out(ctx, step) end
  if why then
    course.unmade[step.name] = fate or "was left out"
    return skip_step(ctx, step, why, hint, ui)
  end
  local err = see_through(ctx, step, ui)
  if err then course.unmade[step.name] = "failed" end
  return err
end


-- Run all steps. ui: begin(name), progress(name, seconds, text), tick(name,
-- seconds), command(argv), output(line), done(name, seconds, note), failed(name,
-- seconds, error), kept(name), skipped(name, why).
-- Returns the first error or nil, an interrupt before any other; the manifest is
-- finished either way.
function pipeline.run(ctx, ui)
  local course, first, steps = { unmade = {} }, nil, pipeline.of(ctx.cfg)
  ctx.givers, ctx.redone, ctx.kept = run_state.givers(pipeline.load()), {}, {}
  ctx.fields = { missing = {} }
  function ctx.fail_later(kind, message, fields)
    local _, err = pcall(errors.raise, kind, message, fields)
    first = first or err
    ctx.note(message)
  end
  for _, step in ipairs(steps) do
    local err = take(ctx, step, course, ui)
    if err and err.kind == "interrupted" then
      course.interrupted, first = true, err
      if not step.dispensable then break end
    end
    first = first or err
  end
  local status = first and (course.interrupted and "interrupted" or "failed") or "done"
  ctx.run:finish(status, first and first.message)
  return first
end


return pipeline
