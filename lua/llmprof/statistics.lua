-- Small statistics over Lua lists of numbers.
local statistics = {}


function statistics.sum(values)
  local total = 0
  for _, value in ipairs(values) do total = total + value end
  return total
end


function statistics.median(values)
  if #values == 0 then return nil end
  local sorted = table.move(values, 1, #values, 1, {})
  table.sort(sorted)
  local half = #sorted // 2
  if #sorted % 2 == 1 then return sorted[half + 1] end
  return (sorted[half] + sorted[half + 1]) / 2
end


-- { count, total, mean, std, min, max }; std is the sample's (n - 1) and
-- absent for fewer than two values. nil for none.
function statistics.describe(values)
  local n = #values
  if n == 0 then return nil end
  local total = statistics.sum(values)
  local mean, low, high = total / n, values[1], values[1]
  for _, value in ipairs(values) do low, high = math.min(low, value), math.max(high, value) end
  local described = { count = n, total = total, mean = mean, min = low, max = high }
  if n > 1 then
    local squares = 0
    for _, value in ipairs(values) do squares = squares + (value - mean) ^ 2 end
    described.std = math.sqrt(squares / (n - 1))
  end
  return described
end


return statistics
