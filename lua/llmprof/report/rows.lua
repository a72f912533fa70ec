-- Rows of the report's tables, from results.
local json = require "llmprof.json"

local rows = {}


-- "prefill/sam" for a kernel of a part of a stage.
local function where(kernel)
  return kernel.part and kernel.stage .. "/" .. kernel.part or kernel.stage
end


local function device_names(results)
  local names = {}
  for _, device in ipairs(results.environment.devices or {}) do
    names[device.id] = ("%s (%d)"):format(device.name or "GPU", device.id)
  end
  return names
end


-- Kernels with their counters beside them; wanted(kernel) leaves some out.
function rows.kernels(results, wanted)
  local names, list = device_names(results), {}
  for _, kernel in ipairs(results.kernels) do
    if not wanted or wanted(kernel) then
      local row = setmetatable({ where = where(kernel),
        device_name = names[kernel.device] or tostring(kernel.device) }, { __index = kernel })
      for key, value in pairs(kernel.counters or {}) do row[key] = value end
      list[#list + 1] = row
    end
  end
  return list
end


-- Kernels that share a function name within a stage, together.
function rows.functions(results, limit)
  local list, index = {}, {}
  for _, kernel in ipairs(results.kernels) do
    local key = where(kernel) .. "\0" .. kernel.short_name
    local row = index[key]
    if not row then
      row = { short_name = kernel.short_name, where = where(kernel), calls = 0, total_ns = 0,
        share = 0 }
      index[key] = row
      list[#list + 1] = row
    end
    row.calls, row.total_ns = row.calls + kernel.calls, row.total_ns + kernel.total_ns
    row.share = row.share + (kernel.share or 0)
    -- one name, several kernels: a bound only where all that were measured agree
    local bound = kernel.counters and kernel.counters.bound
    if bound then row.bound = (row.bound == nil or row.bound == bound) and bound or "mixed" end
  end
  table.sort(list, function(a, b)
    if a.total_ns ~= b.total_ns then return a.total_ns > b.total_ns end
    return a.where .. a.short_name < b.where .. b.short_name
  end)
  return table.move(list, 1, math.min(limit, #list), 1, {})
end


function rows.stages(results)
  local list = {}
  for i, stage in ipairs(results.stages) do
    local row = setmetatable({ label = (stage.parent and "· " or "") .. stage.name },
      { __index = stage })
    for key, value in pairs(stage.wall or {}) do row[key] = value end
    if stage.parent then row.bound = nil end
    list[i] = row
  end
  return list
end


function rows.aggregates(results)
  local list = {}
  for _, stage in ipairs(results.stages) do
    if not stage.parent and stage.wall then
      list[#list + 1] = { label = stage.name, mean_ns = stage.wall.mean_ns,
        std_ns = stage.wall.std_ns, count = stage.wall.count }
      if stage.ns_per_token then
        list[#list + 1] = { label = stage.name .. ", per token", mean_ns = stage.ns_per_token,
          count = stage.wall.count }
      end
    end
  end
  return list
end


-- "[1, 4096] [4096, 64] []": a shape per argument, empty for what is no tensor.
local function shapes_text(shapes)
  if type(shapes) ~= "table" then return nil end
  local list = {}
  for i, shape in ipairs(shapes) do
    list[i] = (json.encode(shape) or ""):gsub(",", ", ")
  end
  return table.concat(list, " ")
end


-- The largest operators; all without a limit.
function rows.operators(list, limit)
  local made = {}
  for i = 1, math.min(limit or #list, #list) do
    made[i] = setmetatable({ shapes = shapes_text(list[i].input_shapes) }, { __index = list[i] })
  end
  return made
end


-- What the operators launched themselves: each one's largest kernels, `limit`
-- of them, all without.
function rows.operator_kernels(list, limit)
  local made = {}
  for _, operator in ipairs(list) do
    for i, kernel in ipairs(operator.kernels or {}) do
      if limit and i > limit then break end
      made[#made + 1] = { operator = operator.name, name = kernel.name, calls = kernel.calls,
        device_ns = kernel.device_ns, share = operator.device_self_ns
          and operator.device_self_ns > 0 and kernel.device_ns / operator.device_self_ns or nil }
    end
  end
  return made
end


function rows.selection(results)
  local list = {}
  for i, group in ipairs(results.selection and results.selection.groups or {}) do
    list[i] = { name = group.name, selected = #group.kernels, of = group.of,
      coverage = group.coverage }
  end
  return list
end


return rows
