-- Ranks, steps and collectives: of the timeline, and of the other ranks' files where
-- there are some.
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local part = require "llmprof.ranks.part"
local rank_files = require "llmprof.run.rank_files"
local rank_view = require "llmprof.analysis.serving.ranks"
local ranks = require "llmprof.ranks"
local text = require "llmprof.text"

local step = { name = "ranks", summary = "find steps, ranks and collectives",
  requires = { "timeline" }, makes = { layout.ranks.record },
  needs = { layout.timeline, layout.workload.metrics },
  reads = { "capture", "folder", "trace", "found", "metrics" },
  gives = { ranks = "steps, ranks and collectives: llmprof.ranks; nil where there are none",
    merged = "a function that gives the frames of all ranks' files; nil for one file" } }


local function files_of(ctx)
  return ctx.state.capture.rank_files and ctx.state.capture.rank_files(ctx) or {}
end


-- Of several files frames are given, which stay where they were made.
function step.separable(ctx) return #files_of(ctx) == 0 end


-- Parts of all ranks: of the timeline alone, or of each file beside it.
local function parts_of(ctx, knowledge, left_out)
  local files = files_of(ctx)
  if #files == 0 then return { part.of(ctx.state.trace, layout.timeline, knowledge) } end
  local parts, unread, bytes = rank_files.parts(files, knowledge, left_out)
  for i, made in ipairs(parts) do
    ctx.run:write(layout.rank_part(made.about.file:match "[^/]*$"), bytes[i])
    bytes[i] = nil
  end
  return parts, unread
end


-- Where the parts are that a record was made of; empty for one file.
local function part_files(ctx, record)
  return lists.map(#record.files > 1 and record.files or {}, function(file)
    return ctx.run:path(layout.rank_part(file.file))
  end)
end


local function note(record)
  if not record then return "one rank, and no steps that anything marks" end
  local steps = record.step_rows and #record.step_rows or 0
  return ("%d rank%s, %s steps%s"):format(#record.ranks, #record.ranks == 1 and "" or "s",
    text.count(steps), record.verdict and ": " .. record.verdict.text or "")
end


-- { record (false where there is nothing to say), left_out, made (frames of several files) }
function step.work(ctx)
  local source, found = ctx.state.capture, ctx.state.found
  local left_out = source.left_out and source.left_out(ctx) or {}
  local knowledge = rank_view.knowledge(ctx.recipe.stages, ctx.recipe.categories, found)
  knowledge.uncounted = rank_view.uncounted(ctx.state.trace, found)
  local parts, unread = parts_of(ctx, knowledge, left_out)
  local record, made = rank_view.record(parts, knowledge, ctx.state.metrics, left_out, unread)
  return { record = record or false, left_out = left_out, made = #parts > 1 and made or nil }
end


function step.run(ctx, done)
  done = done or step.work(ctx)
  ctx.state.ranks = done.record or nil
  ctx.run:write_document(layout.ranks.record, "ranks",
    done.record or { files = {}, left_out = done.left_out, ranks = {} })
  ctx.state.merged = done.made and function() return done.made end or nil
  ctx.run:set_partial(ctx.state.ranks and ctx.state.ranks.left_out or done.left_out)
  return note(ctx.state.ranks)
end


function step.restore(ctx)
  local record = errors.check(document.read(ctx.run:path(layout.ranks.record), "ranks"))
  ctx.state.ranks = #record.ranks > 0 and record or nil
  local files = part_files(ctx, record)
  ctx.state.merged = #files > 0 and function()
    return select(2, ranks.examine(rank_files.parts(files, nil, {}), {}))
  end or nil
end


-- What an llmprof left that kept no parts of several files.
function step.stale(ctx)
  local record = document.read(ctx.run:path(layout.ranks.record), "ranks")
  return record and lists.any(part_files(ctx, record), function(path) return not fs.stat(path) end)
end


return step
