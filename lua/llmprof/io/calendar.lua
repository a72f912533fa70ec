-- Timestamps as manifests have them: 2026-01-31T12:00:00Z.
local calendar = {}


-- Days since 1970-01-01 of a date of the Gregorian calendar. Years begin in March
-- here, so that a leap day is the last of its year.
local function days(year, month, day)
  if month <= 2 then year, month = year - 1, month + 12 end
  local leap_days = year // 4 - year // 100 + year // 400
  return 365 * year + leap_days + (153 * (month - 3) + 2) // 5 + day - 719469
end


-- Seconds since the epoch, or nil when the text is no timestamp.
function calendar.seconds(timestamp)
  local parts = { tostring(timestamp):match "^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)Z$" }
  if #parts == 0 then return nil end
  for i, part in ipairs(parts) do parts[i] = math.tointeger(tonumber(part)) end
  local year, month, day, hour, minute, second = table.unpack(parts)
  return days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second
end


local units = { { 86400, "d" }, { 3600, "h" }, { 60, "min" } }

-- A time in seconds in its largest whole unit: "3 d", "2 h", "5 min", "12 s".
function calendar.age(seconds)
  for _, unit in ipairs(units) do
    if seconds >= unit[1] then return ("%d %s"):format(seconds // unit[1], unit[2]) end
  end
  return ("%d s"):format(math.max(seconds, 0))
end


return calendar
