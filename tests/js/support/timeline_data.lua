-- Writes what a page carries of a timeline, with values at the limits of a column:
-- llmprof exec tests/js/support/timeline_data.lua.
local digest = require "llmprof.digest"
local frame = require "llmprof.frame"
local pack = require "llmprof.pack"
local encode = require "llmprof.analysis.timeline.encode"

local function made(starts)
  return frame.new(#starts, { { name = "start", type = "integer", unit = "ns", values = starts } })
end

local LARGE, SMALL = math.maxinteger, math.mininteger + 1
local bytes = encode.new():pack({ span = { first = 0, last = 1 } }, {
  { "mark", made { 0, -1, 63, -64, 1 << 20, false, 7, LARGE, SMALL, LARGE, false, SMALL } },
  { "busy", made {} },
})
io.write(digest.base64(pack.gzip(bytes)))
