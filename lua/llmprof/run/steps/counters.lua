-- Hardware counters: ncu/raw.csv, joined to the kernels of the timeline.
local counters = require "llmprof.analysis.counters"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local ncu = require "llmprof.nvidia.ncu"

local step = { name = "counters",
  summary = "measure them with hardware counters, join those to the timeline",
  requires = { "plan", "tools" } }


local function lack(ctx, why)
  table.insert(ctx.state.missing, { what = "counters", why = why,
    how = "a GPU, Nsight Compute and the right to read counters: every kernel of "
      .. layout.selection .. " is then measured" })
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


function step.run(ctx)
  local measured, why = ctx.state.capture.counters(ctx)
  if not measured then return lack(ctx, why) end
  ctx.outputs[#ctx.outputs + 1] = layout.counters
  local pages, message = read_page(ctx)
  if not pages then return lack(ctx, message) end
  ctx.state.launches = pages.launches
  if not ctx.state.kernels then
    return ("%d launches, and no timeline to join them to"):format(#pages.launches)
  end
  local joined = counters.join(ctx.state.kernels, pages.launches, ctx.state.found)
  ctx.state.joined = joined
  return note(joined)
end


return step
