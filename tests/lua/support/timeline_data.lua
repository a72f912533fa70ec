-- The bytes of a timeline (llmprof.analysis.timeline.encode) as a table: its head, and each frame
-- by name as columns by name, with its `count` of rows.
local json = require "llmprof.json"
local pack = require "llmprof.pack"

return function(bytes)
  local head, rest = bytes:match "^([^\n]*)\n(.*)$"
  local timeline, at = assert(json.decode(head)), 1
  for _, entry in ipairs(timeline.frames) do
    local frame = assert(pack.decode(rest:sub(at, at + entry.bytes - 1)))
    timeline[entry.name] = { count = #frame }
    for _, column in ipairs(frame:columns()) do
      timeline[entry.name][column.name] = frame:values(column.name)
    end
    at = at + entry.bytes
  end
  assert(at == #rest + 1, "bytes behind the last frame")
  return timeline
end
