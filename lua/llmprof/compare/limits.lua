-- Limits that a comparison must keep: --fail-on 'decode.ms>+3%, prefill.kernels>+0'.
--
--   list    limit, limit, ...
--   limit   PATH (">" | "<") ["+" | "-"] NUMBER [UNIT]
--
-- PATH is one of llmprof.compare.metrics. With a sign the limit is on the
-- difference: a share of the value before (%) or an amount in a unit; without one
-- it is on the value after itself. Times need a unit (ns, us, ms, s); counts and
-- tokens_per_s have none.
local errors = require "llmprof.process.errors"
local metrics = require "llmprof.compare.metrics"
local verdict = require "llmprof.compare.verdict"

local limits = {}

local EXAMPLE = "write decode.ms>+3%, prefill.kernels>+0 or ttft>200ms"

-- Factors to ms.
local time_units = { ns = 1e-6, us = 1e-3, ["µs"] = 1e-3, ms = 1, s = 1e3 }


local function bad(limit, message)
  errors.raise("usage", ("--fail-on: '%s': %s"):format(limit, message), { hint = EXAMPLE })
end


-- ---- reading ----

local function amount_of(text, metric, number, unit)
  if metric.unit ~= "ms" then
    if unit ~= "" and unit ~= metric.unit then
      bad(text, ("%s has %s, not '%s'"):format(metric.path,
        metric.unit and "the unit " .. metric.unit or "no unit", unit))
    end
    return number
  end
  local factor = time_units[unit]
  if not factor then
    bad(text, unit == "" and metric.path .. " is a time: a unit is needed (ms, %)"
      or ("no unit '%s': %%, ns, us, ms or s"):format(unit))
  end
  return number * factor
end


local function parse_limit(text)
  local path, operator, sign, digits, unit = text:match
    "^(.-)%s*([<>])%s*([+-]?)%s*([%d.]+)%s*(%S*)$"
  local number = tonumber(digits)
  if not path or path == "" or not number then bad(text, "not a limit") end
  if sign == "-" then number = -number end
  local limit = { text = text, metric = metrics.parse(path), operator = operator }
  if unit == "%" then
    if sign == "" then bad(text, "a share is one of the value before: +3% or -3%") end
    limit.kind, limit.number = "share", number / 100
  else
    limit.kind = sign == "" and "value" or "difference"
    limit.number = amount_of(text, limit.metric, number, unit)
  end
  return limit
end


-- The limits of a text, or an error that says which is wrong.
function limits.parse(text)
  local list = {}
  for piece in (text .. ","):gmatch "%s*(.-)%s*," do
    if piece ~= "" then list[#list + 1] = parse_limit(piece) end
  end
  if #list == 0 then bad(text, "not a limit") end
  return list
end


-- ---- checking ----

-- What a kind of limit is on: a field of a judged figure.
local limited = { share = "share", difference = "difference", value = "after" }

local function is_beyond(limit, judged)
  local value = judged[limited[limit.kind]]
  if value == nil then return judged.difference ~= 0 end -- any change from 0 is beyond a share
  if limit.operator == ">" then return value > limit.number end
  return value < limit.number
end


-- A limit on the value itself says nothing of a change: the verdict does not matter.
local function outcome_of(limit, judged, strict)
  if not is_beyond(limit, judged) then return "kept" end
  if limit.kind == "value" or judged.verdict ~= verdict.UNKNOWN then return "broken" end
  return strict and "broken" or verdict.UNKNOWN
end


-- Rows { limit, before, after, unit, difference, share, verdict, outcome ("kept",
-- "broken" or "can't tell"), why }; how many are broken, and of how many that cannot be told.
-- strict: a limit that is passed where nobody can tell is broken too. A figure that a side
-- lacks is an error.
function limits.check(list, before, after, strict)
  local rows, broken, undecided = {}, 0, 0
  for i, limit in ipairs(list) do
    local judged, why = metrics.judge(limit.metric, before, after)
    if not judged then
      errors.raise("usage", ("--fail-on: '%s': %s"):format(limit.text, why),
        { hint = "llmprof compare without --fail-on shows what there is" })
    end
    local outcome = outcome_of(limit, judged, strict)
    if outcome == "broken" then broken = broken + 1 end
    if outcome == verdict.UNKNOWN then undecided = undecided + 1 end
    rows[i] = { limit = limit.text, unit = judged.unit, before = judged.before,
      after = judged.after, difference = judged.difference, share = judged.share,
      basis = judged.basis, verdict = judged.verdict, outcome = outcome, why = judged.why }
  end
  return rows, broken, undecided
end


return limits
