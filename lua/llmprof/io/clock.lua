-- Points in time as text, in UTC.
local sys = require "llmprof.sys"

local clock = {}


-- A point in time (ns since 1970; now unless given) in a format of os.date.
function clock.utc(format, ns)
  return os.date("!" .. format, (ns or sys.realtime()) // 1000000000)
end


-- The same as ISO 8601: 2026-01-31T12:00:00Z.
function clock.timestamp(ns)
  return clock.utc("%Y-%m-%dT%H:%M:%SZ", ns)
end


return clock
