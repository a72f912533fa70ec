-- Writes down what is going to happen: the composed configuration, the inputs.
local captures = require "llmprof.run.capture"
local models = require "llmprof.model"
local config = require "llmprof.recipe.config"
local counter_plan = require "llmprof.analysis.counters.plan"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local hardware = require "llmprof.model.hardware"
local identity = require "llmprof.run.identity"
local recipe = require "llmprof.recipe"
local layout = require "llmprof.bundle.layout"
local metrics = require "llmprof.nvidia.metrics"
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"
local vendors = require "llmprof.nvidia.vendors"

local step = { name = "plan", summary = "write down the composed configuration",
  makes = { layout.config } }


-- What is wrong with the settings is to be said before measuring.
local function check(composed, cfg)
  for _, vendor in ipairs(vendors) do vendor.check(cfg[vendor.name]) end
  if composed.origins["nsys.nvtx_capture"] == config.COMMAND_LINE and cfg.nsys.nvtx_capture
    and cfg.nsys.capture_range ~= "nvtx" then
    errors.raise("usage", "nsys.nvtx_capture is set, but nsys.capture_range is not nvtx",
      { hint = "add nsys.capture_range=nvtx" })
  end
  if cfg.timeline == "off" and cfg.counters.by == "off" and cfg.operators == "off" then
    errors.raise("usage", "timeline=off counters=off operators=off: nothing is left to measure")
  end
  if cfg.counters.set then metrics.of(cfg.counters.set) end
  models.description { cfg = cfg.model }
  if cfg.hardware and cfg.hardware.name then hardware.load(cfg.hardware.name) end
  local manifest = cfg.inputs and cfg.inputs.manifest
  if manifest and manifest ~= "" then recipe.inputs(manifest) end
  local given = cfg.workload.operators_trace
  if given and not fs.stat(given) then
    errors.raise("usage", ("workload.operators_trace=%s: no such file"):format(given))
  end
end


-- ---- ranges that are named in settings ----

-- A range that a tool is to look for and no stage is: why that may be a mistake, or nil.
-- form(name): how the setting would write the range of that name.
local function doubt_range(range, names, form)
  local domain, text = range_name.split(range_name.canonical((range:gsub("%*?/?$", ""))))
  for _, name in ipairs(names) do
    local domain_of, text_of = range_name.split(name)
    if text_of:sub(1, #text) == text and domain ~= domain_of then
      return ("is in another domain than the stage '%s' (did you mean '%s'?)"):format(name,
        form(name))
    end
  end
  local near = keys.nearest(range_name.role(range_name.canonical(text)), names)
  return near and ("is no range of a stage (did you mean '%s'?)"):format(form(near))
end


-- What the settings say of ranges and domains that does not go with the recipe's stages: a
-- list of { text, fix }. The program may have ranges that the recipe does not name, so none of
-- it is an error.
function step.doubts(stages, cfg)
  local list = {}
  -- texts of ranges that the recipe says the program has
  local names = lists.flat(stages, function(stage) return { stage.name, stage.step } end)
  local function add(text, fix) list[#list + 1] = { text = text, fix = fix } end
  local known = #names > 0 and "ranges of the recipe: " .. table.concat(names, ", ")
  for _, range in ipairs(known and cfg.counters.by ~= "off" and cfg.ncu.nvtx_include or {}) do
    local is_known = lists.any(names, function(name)
      return counter_plan.names_stage(range, name, { instances = {} })
    end)
    if not (is_known or range:find "[%[%],+]" or range:find "/.") then -- ncu's own ways for more
      add(("ncu.nvtx_include: '%s' %s"):format(range, doubt_range(range, names,
        range_name.ncu_filter) or "is no range of a stage"), known)
    end
  end
  local capture = known and cfg.nsys.capture_range == "nvtx" and cfg.nsys.nvtx_capture
  local gate = capture and range_name.nsys_capture(capture)
  local is_known = lists.any(names, function(name)
    return range_name.canonical(name) == capture or range_name.nsys_capture(name) == gate
  end)
  local why = gate and not is_known and doubt_range(gate:gsub("^(.*)@([^@]*)$", "%2:%1"), names,
    range_name.nsys_capture)
  if why then add(("nsys.nvtx_capture: '%s' %s"):format(capture, why), known) end
  local included, excluded = cfg.nsys.nvtx_domain_include, cfg.nsys.nvtx_domain_exclude
  for _, stage in ipairs(stages) do
    local top = not stage.parent -- its parts are said by the whole
    local domain = range_name.split(stage.name) or "default"
    if top and included and #included > 0 and not lists.has(included, domain) then
      add(("nsys.nvtx_domain_include leaves out the domain of the stage '%s'"):format(stage.name),
        "the domain without a name is called default")
    elseif top and lists.has(excluded or {}, domain) then
      add(("nsys.nvtx_domain_exclude leaves out the domain of the stage '%s'"):format(stage.name),
        "take it out of the list")
    end
  end
  return list
end


-- What config.yaml is to hold.
local function written(ctx)
  local source = captures.of(ctx.cfg)
  return config.to_yaml(ctx.config, source.captured_with and source.captured_with(ctx))
end


function step.run(ctx)
  check(ctx.config, ctx.cfg)
  for _, doubt in ipairs(step.doubts(ctx.recipe.stages, ctx.cfg)) do ctx.note(doubt.text) end
  ctx.run:write(layout.config, written(ctx))
  ctx.run.manifest.model = identity.planned(ctx.cfg)
  local why, is_auto = captures.declined(ctx.cfg), ctx.cfg.capture == "auto"
  return ("capture=%s%s, mode %s"):format(ctx.cfg.capture, why and (" (nsys: %s)"):format(why)
    or is_auto and " (llmprof's own collector)" or "", ctx.cfg.mode)
end


-- A run continued with other settings starts over.
function step.stale(ctx)
  local contents = written(ctx)
  return fs.read(ctx.run:path(layout.config), #contents) ~= contents
end


return step
