-- Launches as records: figures in tables by their paths, { flop = { fp32 = 1 }, ... }.
local records = {}


local function put_at(into, path, value)
  local last = path:match "[^.]+$"
  for part in path:sub(1, -#last - 1):gmatch "[^.]+" do
    into[part] = into[part] or {}
    into = into[part]
  end
  into[last] = value
end


-- Of a row of launches (of llmprof.nvidia.ncu.launches).
function records.of(launches, row)
  local record = {}
  for _, group in ipairs { "bytes", "flop", "tensor", "rate", "intensity", "throughput",
    "shared", "peak.tensor" } do put_at(record, group, {}) end
  for path in pairs(launches.has) do
    local value = launches:get(row, path)
    if value then put_at(record, path, value) end
  end
  return record
end


return records
