-- Points in time as text, in UTC.
local sys = require "llmprof.sys"

local clock = {}


-- A point in time (ns since 1970; now unless given) in a format of os.date.
function clock.utc(format, ns)
  return os.date("!" .. format, (ns or sys.realtime()) // 1000000000)
end


-- The same as ISO 8601: 2026-01-31T12:00:00Z.
function clock.timestamp(ns) return clock.utc("%Y-%m-%dT%H:%M:%SZ", ns) end


-- ---- times as text ----

-- Days since 1970-01-01 of a date of the Gregorian calendar. Years begin in March
-- here, so that a leap day is the last of its year.
local function days(year, month, day)
  if month <= 2 then year, month = year - 1, month + 12 end
  local leap_days = year // 4 - year // 100 + year // 400
  return 365 * year + leap_days + (153 * (month - 3) + 2) // 5 + day - 719469
end


-- Seconds since the epoch, or nil when the text is no timestamp.
function clock.seconds(timestamp)
  local parts = { tostring(timestamp):match "^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)Z$" }
  if #parts == 0 then return nil end
  for i, part in ipairs(parts) do parts[i] = math.tointeger(tonumber(part)) end
  local year, month, day, hour, minute, second = table.unpack(parts)
  return days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second
end


local units = { { 86400, "d" }, { 3600, "h" }, { 60, "min" } }

-- A time in seconds in its largest whole unit: "3 d", "2 h", "5 min", "12 s".
function clock.age(seconds)
  for _, unit in ipairs(units) do
    if seconds >= unit[1] then return ("%d %s"):format(seconds // unit[1], unit[2]) end
  end
  return ("%d s"):format(math.max(seconds, 0))
end


return clock
