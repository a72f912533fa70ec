-- Hardware counters: ncu/raw.csv, joined to the kernels of the timeline.
local counters = require "llmprof.analysis.counters"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local ncu = require "llmprof.nvidia.ncu"

local step = { name = "counters",
  summary = "measure them with hardware counters, join those to the timeline",
  requires = { "plan", "tools" }, needs = { layout.selection }, makes = { layout.counters },
  reads = { "capture", "tools", "folder", "environment", "trace", "found", "kernels", "plan" },
  gives = {
    launches = "every launch and range that was measured: llmprof.ncu; nil without",
    counters = "the same, joined to the kernels: llmprof.analysis.counters; nil without",
  } }


local function lack(ctx, why)
  ctx.lack("counters", why, "a GPU, Nsight Compute and the right to read counters: every kernel "
    .. ("of %s is then measured"):format(layout.selection))
  return "not measured: " .. why
end


-- ncu/raw.csv, or nil and why it has no launches.
local function read_page(ctx)
  local path = ctx.run:path(layout.counters)
  local info = fs.stat(path)
  if info and info.size == 0 then return nil, path .. ": an empty file" end
  return ncu.read(path, { page = "raw" })
end


-- What the results stand for.
local function note(joined)
  local notes = {}
  if joined.launches > 0 then
    notes[1] = ("%d launches stand for %d kernels%s"):format(joined.matched, joined.kernels,
      joined.time_share and (", %.0f %% of the GPU time"):format(joined.time_share * 100) or "")
  end
  if joined.ranges then
    notes[#notes + 1] = ("whole ranges were measured %d times"):format(#joined.ranges)
  end
  return table.concat(notes, ", ")
end


function step.restore(ctx)
  local state, pages, message = ctx.state, read_page(ctx)
  if not pages then return lack(ctx, message) end
  state.launches = pages.launches
  if not state.kernels then
    return ("%d launches, and no timeline to join them to"):format(#pages.launches)
  end
  state.counters = counters.join(state.kernels, pages.launches, state.found)
  return note(state.counters)
end


function step.run(ctx)
  local measured, why = ctx.state.capture.counters(ctx)
  if not measured then return lack(ctx, why) end
  return step.restore(ctx)
end


return step
