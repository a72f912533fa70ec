-- What a run prints: a line per step, and at the end what was found.
local columns = require "llmprof.report.columns"
local rows = require "llmprof.report.rows"
local tables = require "llmprof.tables"
local term = require "llmprof.term"
local text = require "llmprof.text"

local progress = {}

local silent = setmetatable({}, { __index = function() return function() end end })


local function seconds(value)
  return ("%6.1f s"):format(value)
end


-- The columns of the stage table that fit a terminal.
local function short_stages()
  local wanted = { label = true, count = true, mean_ns = true, gpu_busy_ns = true,
    idle_share = true, launches = true, kernels_per_token = true, bound = true }
  local list = {}
  for _, column in ipairs(columns.stages) do
    if wanted[column.key] then list[#list + 1] = column end
  end
  return list
end


-- quiet: print nothing; errors are the caller's. stream: what to write to in
-- place of standard output.
function progress.new(quiet, stream)
  if quiet then return silent end
  local out = term.new(stream or io.stdout, 1)
  local ui = {}

  local function step_line(name, took, note, color)
    out.clear()
    local label = ("%-10s"):format(name)
    out.line(("  %s %s   %s"):format(color and out.style(color, label) or label,
      took and seconds(took) or "        ", note or ""))
  end

  function ui.start(recipe, cfg, run)
    out.line(("%s · capture=%s · %s"):format(out.style("bold", recipe.name), cfg.capture,
      text.clean(run.dir)))
  end

  function ui.begin(name) out.status(("  %-10s ..."):format(name)) end
  function ui.progress(name, took, what)
    out.status(("  %-10s %s   %s"):format(name, seconds(took), what))
  end
  function ui.done(name, took, note) step_line(name, took, note) end
  function ui.kept(name) step_line(name, nil, "kept from before", "dim") end
  function ui.skipped(name, why) step_line(name, nil, "skipped: " .. why, "yellow") end
  function ui.failed(name, took, err) step_line(name, took, "failed: " .. err.message, "red") end

  function ui.finish(ctx, failure)
    if ctx.results then
      out.line ""
      out.line((tables.render("table", short_stages(), rows.stages(ctx.results),
        { columns = out.columns, strong = function(line) return out.style("bold", line) end })
        :gsub("\n$", "")))
    end
    out.line ""
    out.line(("%s %s"):format(failure and "bundle so far:" or "bundle:",
      text.clean(ctx.run.dir)))
  end

  return ui
end


return progress
