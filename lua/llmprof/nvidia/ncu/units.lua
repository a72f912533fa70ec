-- Units as ncu prints them, and what turns a value into base units: bytes,
-- seconds, Hz. ncu scales by 1000 ("Kbyte" is 1000 bytes), picks one prefix
-- per column, and has spelled its units in two ways: "us" and "usecond",
-- "byte/s" and "byte/second", "Ghz" and "cycle/nsecond".
local units = {}

-- Names of what is counted: no prefix, nothing to convert.
local PLAIN = {}
for name in ([[% SM block cluster cycle inst op pass register request sector thread tile warp
               wavefront]]):gmatch "%S+" do
  PLAIN[name] = true
end

local SCALED = { bit = "bit", byte = "byte", hz = "Hz", Hz = "Hz" }
local SCALE = { K = 3, k = 3, M = 6, G = 9, T = 12, P = 15 }

local TIME = { s = "s", second = "s" }
local TIME_SCALE = { m = -3, u = -6, n = -9, p = -12 }


-- One side of a "/": its base unit and the power of ten; nil if not known.
local function part(text)
  if PLAIN[text] then return text, 0 end
  local base = SCALED[text] or TIME[text]
  if base then return base, 0 end
  local prefix, rest = text:sub(1, 1), text:sub(2)
  if SCALED[rest] and SCALE[prefix] then return SCALED[rest], SCALE[prefix] end
  if TIME[rest] and TIME_SCALE[prefix] then return TIME[rest], TIME_SCALE[prefix] end
  return nil
end


-- units.parse(text) -> base, power: a value in `text` times 10^power is in
-- `base`. "" is no unit. A unit that is not known stays what it is, power 0.
function units.parse(text)
  local above, below = text:match "^([^/]+)/([^/]+)$"
  if not above then
    local base, power = part(text)
    return base or text, power or 0
  end
  local base, power = part(above)
  local per, per_power = part(below)
  if not (base and per) then return text, 0 end
  local whole = base .. "/" .. per
  return whole == "cycle/s" and "Hz" or whole, power - per_power
end


-- units.scale(value, power): divides for negative powers, since 10^-6 is not
-- exact and 10^6 is. Whole numbers come as integers, as they do from
-- llmprof.csv; nil when it overflows.
function units.scale(value, power)
  if power == 0 then return value end
  local scaled = power < 0 and value / 10.0 ^ -power or value * 10.0 ^ power
  if math.abs(scaled) == math.huge then return nil end
  return math.tointeger(scaled) or scaled
end


-- Base units a metric must have to be used as such: with another, say one of
-- a spelling not known here, its scale is not known either. ncu gives its own
-- derived__ rates no unit, or one without the "per".
local KINDS = {
  time = { s = true },
  bytes = { byte = true, ["byte/block"] = true },
  byte_rate = { ["byte/s"] = true },
  derived_rate = { ["byte/s"] = true, byte = true, [""] = true },
  derived_width = { ["byte/cycle"] = true, byte = true, [""] = true },
  width = { ["byte/cycle"] = true },
  clock = { Hz = true },
}


-- Is a base unit one of a kind? what: its name, nil for any unit.
function units.fits(unit, what)
  return not what or KINDS[what][unit or ""] or false
end


return units
