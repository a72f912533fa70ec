-- The run as a list of steps. A step is a file in lua/llmprof/run/steps:
--
--   name       what the manifest and the terminal call it
--   summary    what it does, in a line
--   requires   names of steps that must have succeeded (optional)
--   needs      files of the bundle it reads (optional; for --resume)
--   makes      files it writes (optional; for --resume)
--   run(ctx)   does it; returns a note for people
--   restore(ctx)  what run would have left in ctx.state, when it is skipped
--   stale(ctx)    must it run again although its files are there (optional)
--
-- ctx is shared by all steps: recipe, config (composed), cfg (its tree), run
-- (artifacts), state (what steps leave for later ones). A step may call
-- ctx.progress(text) while it works and ctx.tick() while it waits,
-- ctx.command(argv) for each command it starts and ctx.output(line) for what that
-- prints, ctx.note(text) for the manifest, ctx.fail_later(kind, message) for a
-- failure that need not stop the run, and add to ctx.outputs (files of the
-- bundle).
--
-- A step that fails does not stop those that do not require it; the run is
-- then failed, with the first failure's message and exit status.
local clock = require "llmprof.base.clock"
local errors = require "llmprof.base.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local sys = require "llmprof.sys"

local pipeline = {}

-- In this order.
pipeline.steps = { "plan", "tools", "timeline", "export", "select", "counters", "operators",
  "analyse", "render" }


-- The steps, in order.
function pipeline.load()
  local list = {}
  for i, name in ipairs(pipeline.steps) do list[i] = require("llmprof.run.steps." .. name) end
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


-- May the step be left out: it was done, its files are there, and none of what
-- it reads has changed since, in this run or by an earlier step.
local function is_done(ctx, step, redone)
  local before = ctx.run:recorded(step.name)
  if not ctx.resume or not step.makes or not before or before.status ~= "done" then return false end
  if step.stale and step.stale(ctx) then return false end
  for _, name in ipairs(step.requires or {}) do
    if redone[name] then return false end
  end
  local oldest = math.huge
  for _, name in ipairs(step.makes) do
    local info = fs.stat(ctx.run:path(name))
    if not info then return false end
    oldest = math.min(oldest, info.mtime_ns)
  end
  return newest(ctx.run, step.needs) <= oldest
end


-- ---- running ----

local function unmet(step, failed)
  for _, name in ipairs(step.requires or {}) do
    if failed[name] then return name end
  end
  return nil
end


local function elapsed(from)
  return (sys.monotonic() - from) / 1e9
end


local function lines_of(detail)
  local lines = json.list {}
  for line in detail:gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines
end


-- Run a step and return its manifest entry and, if it failed, the error.
local function run_step(ctx, step, ui)
  local started, from, notes = clock.timestamp(), sys.monotonic(), json.list {}
  local commands = json.list {}
  ctx.outputs = {}
  function ctx.progress(text) ui.progress(step.name, elapsed(from), text) end
  function ctx.tick() ui.tick(step.name, elapsed(from)) end
  function ctx.output(line) ui.output(line) end
  function ctx.command(argv)
    commands[#commands + 1] = json.list(argv)
    ui.command(argv)
  end
  function ctx.note(text) notes[#notes + 1] = text end
  local ok, result = xpcall(step.run, errors.handler, ctx)
  local outputs = table.move(step.makes or {}, 1, #(step.makes or {}), 1, {})
  table.move(ctx.outputs, 1, #ctx.outputs, #outputs + 1, outputs)
  local entry = {
    name = step.name,
    status = ok and "done" or "failed",
    started = started,
    seconds = math.floor(elapsed(from) * 1000 + 0.5) / 1000,
    inputs = ctx.run:sizes(step.needs),
    outputs = ctx.run:sizes(outputs),
  }
  if #commands > 0 then entry.commands = commands end
  if #notes > 0 then entry.notes = notes end
  if ok then
    entry.note = result
  else
    entry.message, entry.hint = result.message, result.hint
    entry.last_lines = result.detail and lines_of(result.detail)
  end
  return entry, not ok and result or nil
end


local function keep_step(ctx, step, ui)
  if step.restore then step.restore(ctx) end
  ui.kept(step.name)
end


local function skip_step(ctx, step, cause, ui)
  local message = ("needs the step '%s', which failed"):format(cause)
  ctx.run:record { name = step.name, status = "skipped", message = message }
  ui.skipped(step.name, message)
end


-- Run all steps. ui: begin(name), progress(name, seconds, text), tick(name,
-- seconds), command(argv), output(line), done(name, seconds, note), failed(name,
-- seconds, error), kept(name), skipped(name, why).
-- Returns the first error or nil; the manifest is finished either way.
function pipeline.run(ctx, ui)
  local failed, redone, first = {}, {}, nil
  function ctx.fail_later(kind, message, fields)
    local _, err = pcall(errors.raise, kind, message, fields)
    first = first or err
    ctx.note(message)
  end
  for _, step in ipairs(pipeline.load()) do
    local cause = unmet(step, failed)
    if cause then
      failed[step.name] = true
      skip_step(ctx, step, cause, ui)
    elseif is_done(ctx, step, redone) then
      keep_step(ctx, step, ui)
    else
      -- a step without files only gathers what later ones read
      redone[step.name] = step.makes ~= nil
      ui.begin(step.name)
      local entry, err = run_step(ctx, step, ui)
      ctx.run:record(entry)
      if err then
        failed[step.name] = true
        first = err.kind ~= "interrupted" and first or err
        ui.failed(step.name, entry.seconds, err)
        if err.kind == "interrupted" then break end
      else
        ui.done(step.name, entry.seconds, entry.note)
      end
    end
  end
  local status = first and (first.kind == "interrupted" and "interrupted" or "failed") or "done"
  ctx.run:finish(status, first and first.message)
  return first
end


return pipeline
