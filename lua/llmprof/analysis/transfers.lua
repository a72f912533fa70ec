-- Memory copies by the stage that launched them, direction and kind of host memory.
local errors = require "llmprof.base.errors"
local json = require "llmprof.json"
local sqlite = require "llmprof.sqlite"
local stages = require "llmprof.analysis.stages"

local transfers = {}

-- Host memory kinds, as nsys numbers them.
local PAGEABLE = 0

-- Copies among the kinds of operations of a trace's frame.
local COPY = 1

local directions = { [1] = "host to device", [2] = "device to host", [8] = "device to device",
  [10] = "peer to peer" }

local TABLE = "CUPTI_ACTIVITY_KIND_MEMCPY"

local QUERY = [[
SELECT %s AS copyKind, %s AS srcKind, %s AS dstKind, CAST(start AS INTEGER) AS start,
  CAST(end - start AS INTEGER) AS duration, CAST(bytes AS INTEGER) AS bytes,
  %s AS correlation FROM ]] .. TABLE .. [[ ORDER BY start]]


-- Is the host side of a copy pageable? nil when the export does not say.
local function is_pageable(row)
  local kind
  if row.copyKind == 1 then kind = row.srcKind end
  if row.copyKind == 2 then kind = row.dstKind end
  if kind == nil then return nil end
  return kind == PAGEABLE
end


local function key_of(start, correlation)
  return ("%d/%s"):format(start, correlation or "")
end


-- A function from a copy to the stage that launched it in a used repeat, or nil.
local function stage_finder(found)
  if found.whole then return function() return stages.WHOLE_RUN end end
  local by_copy, copies = {}, found.ops:where { kind = COPY,
    stage_range = stages.used_ranges(found) }
  for row = 1, #copies do
    by_copy[key_of(copies:get(row, "start"), copies:get(row, "correlation"))]
      = copies:get(row, "stage")
  end
  return function(copy) return by_copy[key_of(copy.start, copy.correlation)] end
end


local function column(db, name)
  return db:has(TABLE, name) and name or "NULL"
end


-- Rows of the copies of an export, by start.
local function copies_of(db)
  if not db:has(TABLE) then return function() return nil end end
  return db:query(QUERY:format(column(db, "copyKind"), column(db, "srcKind"), column(db, "dstKind"),
    column(db, "correlationId")))
end


-- The sum that a copy belongs to, made when it is the first.
local function entry_for(sums, list, stage, copy)
  local direction, pageable = directions[copy.copyKind] or "other", is_pageable(copy)
  local key = ("%s/%s/%s"):format(stage, direction, tostring(pageable))
  if not sums[key] then
    sums[key] = { stage = stage, direction = direction, pageable = pageable, calls = 0, bytes = 0,
      gpu_time_ns = 0 }
    list[#list + 1] = sums[key]
  end
  return sums[key]
end


local function by_time(a, b)
  if a.gpu_time_ns ~= b.gpu_time_ns then return a.gpu_time_ns > b.gpu_time_ns end
  local left, right = a.stage .. a.direction, b.stage .. b.direction
  if left ~= right then return left < right end
  return tostring(a.pageable) < tostring(b.pageable)
end


-- List of { stage, direction, pageable (true, false or absent), calls, bytes,
-- gpu_time_ns }, over the used repeats; largest time first.
function transfers.list(trace, found)
  local db = errors.check("failed", sqlite.open(trace:info().path))
  local stage_of, sums, list = stage_finder(found), {}, json.list {}
  for copy in copies_of(db) do
    local stage = stage_of(copy)
    if stage then
      local entry = entry_for(sums, list, stage, copy)
      entry.calls, entry.bytes = entry.calls + 1, entry.bytes + copy.bytes
      entry.gpu_time_ns = entry.gpu_time_ns + copy.duration
    end
  end
  db:close()
  table.sort(list, by_time)
  return list
end


return transfers
