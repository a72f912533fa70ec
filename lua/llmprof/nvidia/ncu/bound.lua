-- What limits a launch, by the rule of thumb of ncu's SpeedOfLight section.
local bound = {}

-- Percent of peak. Below LOW neither units nor memory are kept busy and the
-- launch waits: for latency, for a grid too small. From HIGH on, ncu calls
-- what is above it well used; between the two it only points at the larger.
bound.LOW = 60
bound.HIGH = 80

-- Closer than this, in percentage points, compute and memory are balanced.
bound.BALANCED = 10

-- A grid below one wave cannot fill the GPU.
bound.FULL_WAVE = 1


local function memory_of(throughput)
  if throughput.memory then return throughput.memory, "memory" end
  return throughput.dram, "DRAM"
end


local function latency_reason(numbers, measured)
  local small = numbers.waves and numbers.waves < bound.FULL_WAVE and
    ("; the grid is %.2f of a wave"):format(numbers.waves) or ""
  return ("%s, both below %d %%%s"):format(measured, bound.LOW, small)
end


local function busy_reason(numbers, measured)
  local gap = math.abs(numbers.sm - numbers.memory)
  local largest = math.max(numbers.sm, numbers.memory)
  local level = largest >= bound.HIGH and "high" or "moderate"
  local balanced = gap < bound.BALANCED and ", balanced" or ""
  return ("%s: %s use%s"):format(measured, level, balanced)
end


-- See ncu.bound.
function bound.classify(launch)
  local throughput = launch.throughput
  local memory, name = memory_of(throughput)
  local numbers = { sm = throughput.sm, memory = memory, dram = throughput.dram,
    tensor = throughput.tensor, waves = launch.waves, low = bound.LOW, high = bound.HIGH }
  if not (numbers.sm and memory) then
    local absent = numbers.sm and "memory" or memory and "compute" or "compute and memory"
    return "unknown", absent .. " throughput not measured", numbers
  end
  local measured = ("compute %.1f %% and %s %.1f %% of peak"):format(numbers.sm, name, memory)
  if numbers.sm < bound.LOW and memory < bound.LOW then
    return "latency", latency_reason(numbers, measured), numbers
  end
  return numbers.sm > memory and "compute" or "memory", busy_reason(numbers, measured), numbers
end


return bound
