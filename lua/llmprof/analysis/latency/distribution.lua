-- Times as results keep them.
local json = require "llmprof.json"
local statistics = require "llmprof.statistics"

local distribution = {}

-- More single values than this are not kept in results.json.
local MOST_VALUES = 4096


-- { count, mean_ns, std_ns, min_ns, max_ns, p50_ns, p90_ns, p99_ns, values_ns } of
-- times in ns; percentiles as far as there are values enough. nil for none.
function distribution.of(values)
  local described = statistics.describe(values)
  if not described then return nil end
  local result = { count = described.count, mean_ns = described.mean, std_ns = described.std,
    min_ns = described.min, max_ns = described.max }
  statistics.add_percentiles(result, values)
  if #values <= MOST_VALUES then result.values_ns = json.list(values) end
  return result
end


return distribution
