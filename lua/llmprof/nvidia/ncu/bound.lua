-- What limits a launch: the unit that is used most, where that is much, by the
-- rule of thumb of ncu's SpeedOfLight section.
local formula = require "llmprof.nvidia.ncu.formula"

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


local path, number = formula.path, formula.number


local field_at = {} -- of a launch's throughput, by their paths

local function throughput(field)
  field_at["throughput." .. field[1]] = field[1]
  return path("throughput." .. field[1])
end


-- Formulas of the first of these fields that is as busy as any: which it is, and its
-- percent. names: by field, the formula of the number that stands for it.
local function busiest(fields, names)
  local all, which, percents = {}, {}, {}
  for i, field in ipairs(fields) do all[i] = throughput(field) end
  local near = formula.add(formula.largest(all), number(-ALIKE))
  for i = 1, #fields do
    percents[i] = formula.from(all[i], near)
    which[i] = formula.given(names[i], percents[i])
  end
  return formula.first(which), formula.first(percents)
end


-- The names that a unit's number stands for: units, then what a sum above all measured
-- units may be of.
local NAMES = {}
for i, unit in ipairs(bound.units) do NAMES[i] = unit[2] end
table.move({ "some SM unit", "L2 or L1", "DRAM, L2 or L1" }, 1, 3, #NAMES + 1, NAMES)


-- Formulas of the unit that decides, as its number, and of its percent. A sum that is
-- above all units is of one that was not measured.
local function deciding()
  local own, of_sums, count = {}, {}, #bound.units
  for i = 1, count do own[i] = number(i) end
  local unit, percent = busiest(bound.units, own)
  local some = formula.first { formula.given(number(count + 2), path "throughput.dram"),
    number(count + 3) }
  of_sums[1], of_sums[2] = number(count + 1), some
  local sum, sum_percent = busiest(SUMS, of_sums)
  local above = formula.first { formula.above(sum_percent, formula.add(percent, number(ALIKE))),
    formula.unless(sum_percent, percent) }
  return formula.first { formula.given(sum, above), unit }, formula.first { above, percent }
end


local UNIT, PERCENT = deciding()

-- What stands for no unit in bound.formula.
local LATENCY, UNKNOWN = #NAMES + 1, #NAMES + 2

-- The class as a number, an index of bound.names.
bound.formula = formula.first { formula.given(UNIT, formula.from(PERCENT, number(bound.LOW))),
  formula.given(number(LATENCY), PERCENT), number(UNKNOWN) }

bound.names = table.move({ "latency", "unknown" }, 1, 2, LATENCY,
  table.move(NAMES, 1, #NAMES, 1, {}))


-- Formulas are worked out from a launch.
local function source_of(launch)
  return { path = function(_, name) return launch.throughput[field_at[name]] end }
end


-- See ncu.bound.
function bound.classify(launch)
  local source, known = source_of(launch), {}
  local which = formula.value(UNIT, source, known)
  local percent = formula.value(PERCENT, source, known)
  if not which then return "unknown", "no throughput was measured", {} end
  local unit = NAMES[which]
  local numbers = { unit = unit, percent = percent, waves = launch.waves, low = bound.LOW }
  local said = ("%s %.1f %% of its peak"):format(unit, percent)
  if percent >= bound.LOW then return unit, said, numbers end
  local small = launch.waves and launch.waves < bound.FULL_WAVE
    and ("; the grid is %.2f of a wave"):format(launch.waves) or ""
  return "latency", ("no unit at %d %%, at most %s%s"):format(bound.LOW, said, small), numbers
end


return bound
