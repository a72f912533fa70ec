-- Memory copies by stage, direction and kind of host memory.
local errors = require "llmprof.errors"
local json = require "llmprof.json"
local sqlite = require "llmprof.sqlite"

local transfers = {}

-- Host memory kinds, as nsys numbers them.
local PAGEABLE = 0

local directions = { [1] = "host to device", [2] = "device to host", [8] = "device to device",
  [10] = "peer to peer" }

local QUERY = [[
SELECT copyKind, %s AS srcKind, %s AS dstKind, start, end - start AS duration, bytes
FROM CUPTI_ACTIVITY_KIND_MEMCPY ORDER BY start]]


-- Is the host side of a copy pageable? nil when the export does not say.
local function is_pageable(row)
  local kind
  if row.copyKind == 1 then kind = row.srcKind end
  if row.copyKind == 2 then kind = row.dstKind end
  if kind == nil then return nil end
  return kind == PAGEABLE
end


-- The used instance of a stage without parent that a moment lies in, or nil.
local function stage_at(instances, time)
  for _, instance in ipairs(instances) do
    if time >= instance.start and time < math.max(instance.stop, instance.last or 0) then
      return instance.stage
    end
  end
  return nil
end


local function column(db, name)
  return db:has("CUPTI_ACTIVITY_KIND_MEMCPY", name) and name or "NULL"
end


-- List of { stage, direction, pageable (true, false or absent), calls, bytes,
-- gpu_time_ns }, over the used repeats; largest time first.
function transfers.list(trace, found)
  local db = errors.check("failed", sqlite.open(trace:info().path))
  if not db:has "CUPTI_ACTIVITY_KIND_MEMCPY" then return json.list {} end
  local instances = {}
  for _, instance in ipairs(found.instances) do
    if instance.used and not instance.parent then instances[#instances + 1] = instance end
  end
  local rows, list = {}, json.list {}
  for row in db:query(QUERY:format(column(db, "srcKind"), column(db, "dstKind"))) do
    local stage = stage_at(instances, row.start)
    if stage then
      local direction, pageable = directions[row.copyKind] or "other", is_pageable(row)
      local key = ("%s/%s/%s"):format(stage, direction, tostring(pageable))
      local entry = rows[key]
      if not entry then
        entry = { stage = stage, direction = direction, pageable = pageable, calls = 0, bytes = 0,
          gpu_time_ns = 0 }
        rows[key], list[#list + 1] = entry, entry
      end
      entry.calls, entry.bytes = entry.calls + 1, entry.bytes + row.bytes
      entry.gpu_time_ns = entry.gpu_time_ns + row.duration
    end
  end
  db:close()
  table.sort(list, function(a, b)
    if a.gpu_time_ns ~= b.gpu_time_ns then return a.gpu_time_ns > b.gpu_time_ns end
    return a.stage .. a.direction < b.stage .. b.direction
  end)
  return list
end


return transfers
