-- Launches as columns, of records as a spec writes them: { kernel, device, stages (list of
-- { name, domain }), grid, block, whole_range, pid, correlation, and figures in groups, as
-- llmprof.nvidia.ncu has their paths }.
local frame = require "llmprof.frame"
local launches = require "llmprof.nvidia.ncu.launches"

local GROUPS = { "throughput", "occupancy", "flop", "bytes", "tensor", "shared", "peak",
  "stall" }


local function ranges_of(stages)
  local tags = {}
  for i, stage in ipairs(stages or {}) do
    tags[i] = stage.domain and stage.domain .. ":" .. stage.name or stage.name
  end
  return #tags > 0 and table.concat(tags, "\n") or false
end


-- By name: type, and what a record has there.
local columns = {
  source = { "string", function() return "ncu" end },
  launch = { "integer", function(_, i) return i end },
  pid = { "integer", function(record) return record.pid end },
  correlation = { "integer", function(record) return record.correlation end },
  name = { "string", function(record) return record.kernel end },
  device = { "integer", function(record) return record.device end },
  ranges = { "string", function(record) return ranges_of(record.stages) end },
  started = { "string", function() return false end },
  whole = { "integer", function(record) return record.whole_range and 1 end },
}
for _, what in ipairs { "grid", "block" } do
  for _, axis in ipairs { "x", "y", "z" } do
    columns[what .. "_" .. axis] = { "integer", function(record)
      return record[what] and record[what][axis]
    end }
  end
end


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


return function(records)
  local list, units, by_path = {}, {}, {}
  for name, column in pairs(columns) do
    local values = {}
    for i, record in ipairs(records) do values[i] = column[2](record, i) or false end
    list[#list + 1] = { name = name, type = column[1], values = values }
  end
  for i, record in ipairs(records) do
    for path, value in pairs(numbers_of(record)) do
      by_path[path] = by_path[path] or {}
      by_path[path][i] = value
    end
  end
  for path, values in pairs(by_path) do
    for i = 1, #records do values[i] = values[i] or false end
    list[#list + 1] = { name = path, type = "number", values = values }
    units[path] = ""
  end
  return launches.of(frame.new(#records, list), units, nil, function(of)
    for path in pairs(by_path) do of:put(path, nil, of:metric(path)) end
  end)
end
