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
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
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

-- What options of a command line say of limits fits together.
function limits.check_options(given)
  for _, name in ipairs { "strict", "allow-undecided" } do
    if given[name] and not given["fail-on"] then
      errors.raise("usage", ("--%s needs limits: --fail-on 'decode.ms>+3%%'"):format(name))
    end
  end
  if given.strict and given["allow-undecided"] then
    errors.raise("usage", "--strict and --allow-undecided: one of them")
  end
end


local function parse_limit(text)
  local path, operator, sign, digits, unit = text:match
    "^(.-)%s*([<>])%s*([+-]?)%s*([%d.]+)%s*(%S*)$"
  local number = tonumber(digits)
  if not path or path == "" or not number then bad(text, "not a limit") end
  if sign == "-" then number = -number end
  local metric = metrics.parse(path)
  local limit = { text = text, metric = metric, operator = operator, number = number,
    kind = sign == "" and "value" or "difference" }
  if unit == "%" then
    if sign == "" then bad(text, "a share is one of the value before: +3% or -3%") end
    limit.kind, limit.number = "share", number / 100
  elseif metric.unit == "ms" then
    if not time_units[unit] then bad(text, path .. " is a time: its unit is %, ns, us, ms or s") end
    limit.number = number * time_units[unit]
  elseif unit ~= "" and unit ~= metric.unit then
    bad(text, ("%s has %s, not '%s'"):format(metric.path,
      metric.unit and "the unit " .. metric.unit or "no unit", unit))
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


-- The limit as a difference, of before where it is a share.
local function bound_of(limit, judged)
  return limit.kind == "share" and limit.number * math.abs(judged.before) or limit.number
end


-- The outcome, and why it is not known. A limit on the value itself says nothing of a change:
-- the verdict does not matter.
local function outcome_of(limit, judged, strict)
  local is_value, why = limit.kind == "value", judged.why
  local is_known = is_value or judged.verdict ~= verdict.UNKNOWN and not judged.incomparable
  if is_beyond(limit, judged) then
    if is_known then return "broken", why end
  elseif is_value or not judged.incomparable then
    local low, high = judged.low, judged.high or math.huge -- may the interval go beyond it?
    local bound = bound_of(limit, judged)
    if is_value or not low or judged.verdict == "same"
      or limit.operator == ">" and high <= bound or limit.operator == "<" and low >= bound then
      return "kept", why
    end
    why = "the interval holds the limit"
  end
  return strict and "broken" or verdict.UNKNOWN, why
end


-- The judged figure of a limit; one that a side lacks is an error.
local function judge(limit, before, after, level)
  local judged, why = metrics.judge(limit.metric, before, after, level)
  if judged then return judged end
  return errors.raise("usage", ("--fail-on: '%s': %s"):format(limit.text, why),
    { hint = "llmprof compare without --fail-on shows what there is" })
end


-- Rows { limit, before, after, unit, difference, share, low, high (the interval, as shares of
-- before), verdict, outcome ("kept", "broken" or "can't tell"), why }.
-- strict: a limit that is passed where nobody can tell is broken too. A figure that a side
-- lacks is an error.
function limits.check(list, before, after, strict)
  return lists.map(list, function(limit)
    local judged = judge(limit, before, after)
    local outcome, why = outcome_of(limit, judged, strict)
    local row = keys.merged(judged, { limit = limit.text, outcome = outcome })
    row.low, row.high, row.why = judged.low_share, judged.high_share, why
    return row
  end)
end


-- How many limits of comparisons have each outcome, and how many there are.
function limits.counts(list)
  local counts, all = { kept = 0, broken = 0, [verdict.UNKNOWN] = 0 }, 0
  for _, row in ipairs(lists.flat(list, "limits")) do
    counts[row.outcome], all = counts[row.outcome] + 1, all + 1
  end
  return counts, all
end


-- ---- deciding early ----

-- Looks before the last one count only where they are this sure, so that all of them together
-- find a change that is none about as often as the last one alone (Haybittle and Peto).
local INTERIM = 0.001

-- Are the limits decided before as many samples were taken as may be: is one broken, or is none
-- left that more samples could change? They leave an outcome as it is if the interval lies on one
-- side of the limit, and if nothing of it varies.
function limits.are_settled(list, before, after)
  local open = false
  for _, limit in ipairs(list) do
    local judged, settled = judge(limit, before, after, INTERIM), true
    local is_known, bound = judged.verdict ~= verdict.UNKNOWN, bound_of(limit, judged)
    if limit.kind ~= "value" and not is_known and is_beyond(limit, judged) then
      settled = false
    elseif limit.kind ~= "value" and judged.low then
      settled = judged.low > bound or (judged.high or math.huge) < bound
    elseif limit.kind ~= "value" then
      settled = is_known and not judged.assumed
    end
    if settled and outcome_of(limit, judged) == "broken" then return true end
    open = open or not settled
  end
  return not open
end


local function number(value, unit) return ("%.6g%s"):format(value, unit and " " .. unit or "") end


-- Why a limit is not kept, in a line. row: of limits.check.
function limits.complaint(row)
  return ("limit '%s' %s: %s before, %s after (%s)"):format(row.limit,
    row.outcome == "broken" and "is broken" or "may be broken", number(row.before, row.unit),
    number(row.after, row.unit), row.why or row.verdict)
end


-- The limits of comparisons with this outcome, a line each.
local function complaints(list, outcome)
  return lists.flat(list, function(made)
    return lists.map(made.limits or {}, function(row)
      return row.outcome == outcome and ("%s: %s"):format(made.after.name, limits.complaint(row))
        or nil
    end)
  end)
end


-- Raise where limits of comparisons are broken, or, unless that is allowed, may be: the message is
-- the first of the lines that say it. Returns what is to be said of the latter, a list of lines.
function limits.enforce(list, allow_undecided)
  local broken, unknown = complaints(list, "broken"), complaints(list, verdict.UNKNOWN)
  if #broken > 0 or #unknown > 0 and not allow_undecided then
    local lines = lists.joined(broken, unknown)
    local message = table.remove(lines, 1)
    errors.raise(#broken > 0 and "gate" or "undecided", message,
      { detail = #lines > 0 and table.concat(lines, "\n") or nil })
  end
  return unknown
end


return limits
