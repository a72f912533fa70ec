-- Hardware counters: ncu/raw.csv.
local counters = require "llmprof.analysis.counters"
local ncu = require "llmprof.ncu"
local recorded = require "llmprof.recorded"

local step = { name = "counters", requires = { "plan", "tools" } }


local function lack(ctx, why)
  table.insert(ctx.state.missing, { what = "counters", why = why,
    how = "run with a GPU and Nsight Compute: every kernel of ncu/selection.json is measured" })
  return "not measured: " .. why
end


function step.run(ctx)
  if not recorded.take(ctx.state.folder, "ncu/raw.csv", ctx.run, "ncu/raw.csv") then
    return lack(ctx, "the recorded capture has no ncu/raw.csv")
  end
  ctx.outputs[1] = "ncu/raw.csv"
  local pages, message, code = ncu.read(ctx.run:path "ncu/raw.csv", { page = "raw" })
  if not pages and code == "nokernels" then return lack(ctx, message) end
  if not pages then return lack(ctx, message) end
  ctx.state.launches = pages.launches
  if not ctx.state.kernels then return ("%d launches, no timeline to join"):format(#pages.launches) end
  local joined = counters.join(ctx.state.kernels, pages.launches, ctx.state.found)
  ctx.state.joined = joined
  return ("%d launches stand for %d kernels, %.0f %% of the GPU time"):format(joined.matched,
    joined.kernels, (joined.time_share or 0) * 100)
end


return step
