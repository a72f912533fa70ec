-- What limits a launch: the unit that is used most, where that is much, by the
-- rule of thumb of ncu's SpeedOfLight section.
local bound = {}

-- Percent of peak. Below LOW no unit is kept busy and the launch waits for
-- latency, as with a grid too small.
bound.LOW = 60

-- A grid below one wave cannot fill the GPU.
bound.FULL_WAVE = 1

-- Fields of a launch's throughput and the units that they are of, from the roof
-- inwards. Of units that are about as busy the first is named: what DRAM cannot give
-- keeps L2 no less busy, and what a pipe of an SM does had to be issued.
bound.units = { { "dram", "DRAM" }, { "l2", "L2" }, { "l1", "L1" }, { "tensor", "tensor" },
  { "fp32", "fp32" }, { "fp64", "fp64" }, { "alu", "ALU" }, { "xu", "XU" }, { "lsu", "LSU" },
  { "tex", "TEX" }, { "adu", "ADU" }, { "uniform", "uniform" }, { "mio", "MIO" },
  { "issue", "issue" } }

-- What ncu sums up of several units.
local SUMS = { { "sm" }, { "memory" } }

-- Percentage points that are no difference.
local ALIKE = 5


-- The first of these fields that is as busy as any, and its percent; nil when
-- none was measured.
local function busiest(throughput, fields)
  local most = -math.huge
  for _, field in ipairs(fields) do most = math.max(most, throughput[field[1]] or most) end
  for _, field in ipairs(fields) do
    local percent = throughput[field[1]]
    if percent and percent >= most - ALIKE then return field, percent end
  end
  return nil
end


-- The units that a sum above all measured ones may be of.
local function candidates(sum, throughput)
  if sum == "sm" then return "some SM unit" end
  return throughput.dram and "L2 or L1" or "DRAM, L2 or L1"
end


-- A sum that is above all units is of one that was not measured.
local function deciding(throughput)
  local unit, percent = busiest(throughput, bound.units)
  local sum, sum_percent = busiest(throughput, SUMS)
  if sum and sum_percent > (percent or -math.huge) + ALIKE then
    return candidates(sum[1], throughput), sum_percent
  end
  return unit and unit[2], percent
end


-- See ncu.bound.
function bound.classify(launch)
  local unit, percent = deciding(launch.throughput)
  if not unit then return "unknown", "no throughput was measured", {} end
  local numbers = { unit = unit, percent = percent, waves = launch.waves, low = bound.LOW }
  local said = ("%s %.1f %% of its peak"):format(unit, percent)
  if percent >= bound.LOW then return unit, said, numbers end
  local small = launch.waves and launch.waves < bound.FULL_WAVE
    and ("; the grid is %.2f of a wave"):format(launch.waves) or ""
  return "latency", ("no unit at %d %%, at most %s%s"):format(bound.LOW, said, small), numbers
end


return bound
