-- Ranks, steps and collectives: of the timeline, and of the other ranks' files where
-- there are some.
local document = require "llmprof.base.document"
local errors = require "llmprof.base.errors"
local layout = require "llmprof.bundle.layout"
local rank_files = require "llmprof.run.rank_files"
local rank_view = require "llmprof.analysis.rank_view"
local text = require "llmprof.text"

local step = { name = "ranks", summary = "find steps, ranks and collectives",
  requires = { "timeline" }, makes = { layout.ranks.record },
  needs = { layout.timeline, layout.workload.metrics },
  reads = { "capture", "folder", "trace", "found", "metrics" },
  gives = { ranks = "steps, ranks and collectives: llmprof.ranks; nil where there are none" } }


-- Parts of all ranks: of the timeline alone, or of each file beside it.
local function parts_of(ctx, knowledge, left_out)
  local files = ctx.state.capture.rank_files and ctx.state.capture.rank_files(ctx) or {}
  if #files == 0 then
    return { rank_view.part(ctx.state.trace, layout.timeline, knowledge) }
  end
  return rank_files.parts(files, knowledge, left_out, ctx.progress)
end


local function keep(ctx, record, left_out)
  ctx.state.ranks = record
  ctx.run:write_document(layout.ranks.record, "ranks",
    record or { files = {}, left_out = left_out, ranks = {} })
end


local function note(record)
  if not record then return "one rank, and no steps that anything marks" end
  local steps = record.step_rows and #record.step_rows or 0
  return ("%d rank%s, %s steps%s"):format(#record.ranks, #record.ranks == 1 and "" or "s",
    text.count(steps), record.verdict and ": " .. record.verdict.text or "")
end


function step.run(ctx)
  local left_out, found = {}, ctx.state.found
  local knowledge = rank_view.knowledge(ctx.recipe.stages, ctx.recipe.categories, found)
  local parts, unread = parts_of(ctx, knowledge, left_out)
  keep(ctx, rank_view.record(parts, knowledge, ctx.state.metrics, left_out, unread), left_out)
  ctx.run:set_partial(ctx.state.ranks and ctx.state.ranks.left_out or left_out)
  return note(ctx.state.ranks)
end


function step.restore(ctx)
  local record = errors.check("failed",
    document.read(ctx.run:path(layout.ranks.record), "ranks"))
  ctx.state.ranks = #record.ranks > 0 and record or nil
end


return step
