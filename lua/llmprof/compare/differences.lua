-- What differs between two sides besides the times: the model, the machine, how
-- it was captured, the workload's settings, the configuration. Most surprises in
-- a comparison are here.
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"

local differences = {}

-- Configuration that names a run or a place, or has a fact of its own below.
local not_compared = { ["out"] = true, ["run.id"] = true, ["run.root"] = true,
  ["python"] = true, ["tools.nsys"] = true, ["tools.ncu"] = true,
  ["recorded"] = true, ["model.name"] = true, ["model.variant"] = true, ["model.dtype"] = true,
  ["nsys.preset"] = true, ["ncu.preset"] = true }


-- How much of CUDA graphs the capture shows.
local function graph_trace(results)
  local totals = results.totals or {}
  if (totals.graphs or 0) > 0 then return "one row each" end
  local nodes = totals.graph_kernels
  return nodes and (nodes > 0 and "kernel by kernel" or "none ran")
end


-- In this order: group, name, and the value of a side or nil: where results have it, or made of
-- them.
local facts = {
  { "model", "model", "model.name" },
  { "model", "variant", "model.variant" },
  { "model", "dtype", "model.dtype" },
  { "model", "weights", "model.weights" },
  { "model", "parameters", function(r)
    local described = r.model.described
    return described and ("%d"):format(described.parameters.total)
  end },
  { "run", "recipe", "run.recipe" },
  { "run", "commit", function(r) -- "5c62cc7106", with a "+" where files were changed since
    local commit = r.environment.commit
    return commit and commit:sub(1, 10) .. (r.environment.commit_changed and "+" or "")
  end },
  { "machine", "GPU", function(r)
    local devices = r.environment.devices or {}
    local name = devices[1] and devices[1].name
    return name and #devices > 1 and ("%d x %s"):format(#devices, name) or name
  end },
  { "machine", "driver", "environment.driver" },
  { "machine", "CUDA", "environment.cuda" },
  { "machine", "torch", "environment.torch" },
  { "machine", "transformers", "environment.transformers" },
  { "machine", "python", "environment.python" },
  { "machine", "CPU", "environment.cpu" },
  { "machine", "kernel", "environment.kernel" },
  { "clocks", "held while a kernel ran", function(r)
    return r.hardware and r.hardware.clock and ("%.0f MHz"):format(r.hardware.clock.hz / 1e6)
  end },
  { "clocks", "throttling", function(r)
    local check = r.integrity and lists.find(r.integrity.checks, "name", "clocks")
    if check and check.level ~= "ok" then return check.text end
    return r.integrity and "not held down" or nil
  end },
  { "clocks", "power limit W", function(r)
    local gpu = (r.environment.gpus or {})[1]
    return gpu and gpu.power_limit_w
  end },
  { "capture", "from", "source.timeline.from" },
  { "capture", "tool", "source.timeline.tool" },
  { "capture", "profiler version", "source.timeline.export_product" },
  { "capture", "CUDA graphs", graph_trace },
  { "capture", "export schema", "source.timeline.export_schema" },
  { "capture", "repeats", "repeats.count" },
  { "capture", "first repeat left out", "repeats.skipped_first" },
  { "capture", "stages", function(r)
    if r.inferred then return ("inferred, confidence %.2f"):format(r.inferred.confidence) end
    return r.repeats.whole_run and "the whole run" or "NVTX ranges"
  end },
  { "capture", "integrity", "integrity.verdict" },
  { "llmprof", "version", "run.llmprof" },
}


local function text_of(value)
  if value == nil then return nil end
  if type(value) == "boolean" then return value and "yes" or "no" end
  if type(value) == "number" then return ("%.6g"):format(value) end
  if type(value) ~= "table" then return tostring(value) end
  return "[" .. table.concat(lists.map(value, text_of), ", ") .. "]"
end


-- A tree as dotted keys with their values as text.
local function flat(tree, prefix, into)
  for key, value in pairs(tree or {}) do
    local name = prefix .. tostring(key)
    if type(value) == "table" and next(value) ~= nil and #value == 0 then
      flat(value, name .. ".", into)
    elseif type(value) ~= "userdata" then
      into[name] = text_of(value)
    end
  end
  return into
end


local function add(list, group, name, before, after)
  before, after = text_of(before), text_of(after)
  if before ~= after then
    list[#list + 1] = { group = group, name = name, before = before, after = after }
  end
end


-- Every key that either side has, when both say anything at all.
local function add_all(list, group, before, after, skip)
  if not before or not after then return end
  for _, key in ipairs(keys.sorted(keys.merged(before, after))) do
    if not skip(key, before[key], after[key]) then
      add(list, group, key, before[key], after[key])
    end
  end
end


-- The workload's own account of what it ran.
local function settings(metrics)
  if not metrics then return nil end
  local said = flat(metrics.options, "", {})
  for _, key in ipairs { "batch", "prompt_tokens", "image_tokens", "new_tokens" } do
    said[key] = text_of(metrics[key])
  end
  return said
end


-- A row as text: "torch 2.3 -> 2.4".
function differences.text(row)
  return ("%s %s -> %s"):format(row.name, row.before or "(none)", row.after or "(none)")
end


-- Rows { group, name, before, after }; a value is absent where the side does not
-- say. Settings that one side does not record at all make no rows.
function differences.list(before, after)
  local list = {}
  for _, fact in ipairs(facts) do
    local group, name, value = table.unpack(fact)
    local function of(results)
      if type(value) == "string" then return keys.at(results, value) end
      return value(results)
    end
    add(list, group, name, of(before.results), of(after.results))
  end
  for _, was in ipairs(before.results.stages) do -- more steps are no slowdown
    local is = lists.find(after.results.stages, "name", was.name)
    if is and was.tokens and is.tokens then
      add(list, "work", was.name .. " tokens", was.tokens, is.tokens)
    end
    if is then add(list, "work", was.name .. " steps", was.steps, is.steps) end
  end
  add_all(list, "workload", settings(before.metrics), settings(after.metrics),
    function() return false end)
  local old = before.config and flat(before.config, "", {})
  local new = after.config and flat(after.config, "", {})
  add_all(list, "configuration", old, new, function(key, was, is)
    -- infer.batch and the workload's batch: one of them is enough, where they say the same
    return not_compared[key] or lists.any(list, function(row)
      return row.group == "workload" and row.before == was and row.after == is
        and ("." .. key):sub(-#row.name - 1) == "." .. row.name
    end)
  end)
  return list
end


-- Sentences on what cannot be compared because a side does not record it.
function differences.unknown(before, after)
  local list = {}
  for _, side in ipairs { before, after.name ~= before.name and after or nil } do
    local lacks = {}
    if not side.config then lacks[#lacks + 1] = "configuration" end
    if not side.metrics then lacks[#lacks + 1] = "workload's settings" end
    if #lacks > 0 then
      list[#list + 1] = ("%s does not record its %s."):format(side.name,
        table.concat(lacks, " or its "))
    end
  end
  return list
end


return differences
