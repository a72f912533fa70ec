-- Hardware counters: ncu/raw.csv, joined to the kernels of the timeline.
local counters = require "llmprof.analysis.counters"
local ncu = require "llmprof.ncu"

local step = { name = "counters",
  summary = "measure them with hardware counters, join those to the timeline",
  requires = { "plan", "tools" } }


local function lack(ctx, why)
  table.insert(ctx.state.missing, { what = "counters", why = why,
    how = "a GPU, Nsight Compute and the right to read counters: every kernel of "
      .. "ncu/selection.json is then measured" })
  return "not measured: " .. why
end


-- The raw page has the numbers; the details page the rules' advice.
local function read_pages(ctx)
  local pages, message = ncu.read(ctx.run:path "ncu/raw.csv", { page = "raw" })
  if not pages then return nil, message end
  if ctx.run:has "ncu/details.csv" then
    local details, why = ncu.read(ctx.run:path "ncu/details.csv", { page = "details" })
    local merged = details and ncu.merge(pages, details)
    if merged then return merged end
    ctx.note("ncu/details.csv is left out: " .. tostring(why or "it does not fit the raw page"))
  end
  return pages
end


function step.run(ctx)
  local measured, why = ctx.state.capture.counters(ctx)
  if not measured then return lack(ctx, why) end
  ctx.outputs[#ctx.outputs + 1] = "ncu/raw.csv"
  local pages, message = read_pages(ctx)
  if not pages then return lack(ctx, message) end
  ctx.state.launches = pages.launches
  if not ctx.state.kernels then
    return ("%d launches, and no timeline to join them to"):format(#pages.launches)
  end
  local joined = counters.join(ctx.state.kernels, pages.launches, ctx.state.found)
  ctx.state.joined = joined
  return ("%d launches stand for %d kernels, %.0f %% of the GPU time"):format(joined.matched,
    joined.kernels, (joined.time_share or 0) * 100)
end


return step
