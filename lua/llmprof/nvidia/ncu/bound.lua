-- What limits a launch: the unit that is used most, where that is much, by the
-- rule of thumb of ncu's SpeedOfLight section. A unit that was not measured is not idle,
-- and a class that depends on it is not known.
local formula = require "llmprof.nvidia.ncu.formula"

local bound = {}

-- Percent of peak. Below LOW no unit is kept busy and the launch waits for
-- latency, as with a grid too small.
bound.LOW = 60

-- No unit gets this far above its peak: its counters, the time or the peak is wrong.
bound.MOST = 110

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
  field_at["throughput." .. field] = field
  return path("throughput." .. field)
end


-- Formulas of the first of these fields that is as busy as any: which it is, and its
-- percent. names: by field, the formula of the number that stands for it.
local function busiest(fields, names)
  local all, which, percents = {}, {}, {}
  for i, field in ipairs(fields) do all[i] = throughput(field[1]) end
  local near = formula.add(formula.largest(all), number(-ALIKE))
  for i = 1, #fields do
    percents[i] = formula.from(all[i], near)
    which[i] = formula.given(names[i], percents[i])
  end
  return formula.first(which), formula.first(percents)
end


-- The names that a unit's number stands for: units, what a sum above all measured units
-- may be of, and what is no unit.
local NAMES = {}
for i, unit in ipairs(bound.units) do NAMES[i] = unit[2] end
table.move({ "some SM unit", "L2 or L1", "DRAM, L2 or L1", "latency", "unknown" }, 1, 5,
  #NAMES + 1, NAMES)
local LATENCY, UNKNOWN = #NAMES - 1, #NAMES

bound.names = NAMES


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

-- Parts of a GPU, the fields that tell of all of it, and ncu's sum that does.
local PARTS = { { "DRAM", { "dram" }, "memory" }, { "L2", { "l2" }, "memory" },
  { "L1", { "l1" }, "memory" }, { "SM", {}, "sm" } }
for i = 4, #bound.units do PARTS[4][2][i - 3] = bound.units[i][1] end


-- There where all of a part was measured.
local function known(part)
  local all
  for _, field in ipairs(part[2]) do
    all = all and formula.given(all, throughput(field)) or throughput(field)
  end
  return formula.first { throughput(part[3]), all }
end


local KNOWN, COMPLETE = {}, nil
for i, part in ipairs(PARTS) do
  KNOWN[i] = known(part)
  COMPLETE = COMPLETE and formula.given(COMPLETE, KNOWN[i]) or KNOWN[i]
end

-- L2 and L1 are busy where DRAM is: without it nothing says which of them decides.
local DRAM, L1 = 1, 3
local BUSY = formula.given(UNIT, formula.from(PERCENT, number(bound.LOW)))
local HIDDEN = formula.unless(formula.unless(formula.above(BUSY, number(DRAM)),
  formula.above(BUSY, number(L1))), path "throughput.dram")

local IMPOSSIBLE = formula.above(PERCENT, number(bound.MOST))
local IDLE = formula.given(formula.above(number(bound.LOW), PERCENT), COMPLETE)

-- The class as a number, an index of bound.names.
bound.formula = formula.first {
  formula.unless(formula.unless(BUSY, HIDDEN), IMPOSSIBLE),
  formula.given(number(LATENCY), IDLE), number(UNKNOWN) }


-- Formulas are worked out from a launch.
local function source_of(launch)
  return { path = function(_, name) return launch.throughput[field_at[name]] end }
end


-- Which parts are not known, and why: of some the bytes are, but not what they are held to.
local function missing(launch, value)
  local unmeasured, peakless, bytes = {}, {}, launch.bytes or {}
  for i, part in ipairs(PARTS) do
    if not value(KNOWN[i]) then
      local list = bytes[part[2][1]] and peakless or unmeasured
      list[#list + 1] = part[1]
    end
  end
  local said = {}
  if #unmeasured > 0 then said[1] = table.concat(unmeasured, ", ") .. " not measured" end
  if #peakless > 0 then
    said[#said + 1] = ("peak of %s not known"):format(table.concat(peakless, ", "))
  end
  return table.concat(said, ", ")
end


-- Why the class of a launch is not known. value: what a formula comes to.
local function unknown(launch, value, numbers)
  if not numbers.percent and not next(launch.bytes or {}) then
    return "no throughput was measured"
  end
  if value(IMPOSSIBLE) then
    return ("%s at %.0f %% of its peak cannot be"):format(numbers.unit, numbers.percent)
  end
  if value(HIDDEN) then
    return launch.bytes and launch.bytes.dram and "peak of DRAM not known" or "DRAM not measured"
  end
  return missing(launch, value)
end


-- See ncu.bound.
function bound.classify(launch)
  local source, worked_out = source_of(launch), {}
  local function value(tree) return formula.value(tree, source, worked_out) end
  local class, which = NAMES[value(bound.formula)], value(UNIT)
  local numbers = { unit = NAMES[which], percent = value(PERCENT), waves = launch.waves,
    low = bound.LOW }
  if class == "unknown" then return class, unknown(launch, value, numbers), numbers end
  local said = ("%s %.1f %% of its peak"):format(numbers.unit, numbers.percent)
  if class ~= "latency" then return class, said, numbers end
  local small = launch.waves and launch.waves < bound.FULL_WAVE
    and ("; the grid is %.2f of a wave"):format(launch.waves) or ""
  return class, ("no unit at %d %%, at most %s%s"):format(bound.LOW, said, small), numbers
end


return bound
