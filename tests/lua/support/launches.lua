-- Launches as columns, of records as a spec writes them: { kernel, device, stages, grid,
-- block, whole_range, and figures in groups, as llmprof.nvidia.ncu has them }.
local frame = require "llmprof.frame"
local launches = require "llmprof.nvidia.ncu.launches"

local STACK = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
local GROUPS = { "throughput", "occupancy", "flop", "bytes", "tensor", "shared", "peak" }


local function stack_of(stages)
  local items = {}
  for i, stage in ipairs(stages or {}) do
    items[i] = ('"%s:%s:none:none:none:none:none:none"'):format(stage.domain or "<default domain>",
      stage.name)
  end
  return stages and "7  " .. table.concat(items, "  ") or false
end


local function size_of(size)
  return size and ("(%d, %d, %d)"):format(size.x, size.y, size.z) or false
end


local texts = {
  ID = function(_, i) return tostring(i) end,
  ["Kernel Name"] = function(record) return record.kernel end,
  Stream = function(record) return not record.whole_range and "7" end,
  Device = function(record) return record.device and tostring(record.device) end,
  ["Block Size"] = function(record) return size_of(record.block) end,
  ["Grid Size"] = function(record) return size_of(record.grid) end,
  [STACK] = function(record) return stack_of(record.stages) end,
}


-- Numbers of a record by their path.
local function figures_of(group, path, into)
  for key, value in pairs(group) do
    if type(value) == "table" then
      figures_of(value, path .. key .. ".", into)
    else
      into[path .. key] = value
    end
  end
  return into
end


local function numbers_of(record)
  local found = { duration = record.duration, waves = record.waves,
    registers = record.registers }
  for _, group in ipairs(GROUPS) do figures_of(record[group] or {}, group .. ".", found) end
  return found
end


local function column(name, type, values)
  return { name = name, type = type, values = values }
end


-- Without a stack in any record the page has no such column.
local function text_columns(records)
  local list = {}
  for name, get in pairs(texts) do
    local values, any = {}, false
    for i, record in ipairs(records) do
      values[i] = get(record, i) or false
      any = any or values[i]
    end
    if any then list[#list + 1] = column(name, "string", values) end
  end
  return list
end


return function(records)
  local columns, ids, lines, figures, by_path = text_columns(records), {}, {}, {}, {}
  for i, record in ipairs(records) do
    ids[i], lines[i] = i, i + 2
    for path, value in pairs(numbers_of(record)) do
      by_path[path] = by_path[path] or {}
      by_path[path][i] = value
    end
  end
  table.move({ column("id", "integer", ids), column("line", "integer", lines) }, 1, 2,
    #columns + 1, columns)
  for path, values in pairs(by_path) do
    for i = 1, #records do values[i] = values[i] or false end
    columns[#columns + 1] = column(path, "number", values)
    figures[#figures + 1] = { path = path, tree = { "metric", path } }
  end
  if #records == 0 then columns[#columns + 1] = column("ID", "string", {}) end
  return assert(launches.read(frame.new(#records, columns), "spec", figures,
    { metric = function(_, path) return { { path } } end }))
end
