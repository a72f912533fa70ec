-- Memory copies by the stage that launched them, direction and kind of host memory.
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local stages = require "llmprof.analysis.stages.find"
local tuple = require("llmprof.tables.keys").tuple

local transfers = { where = { "trace" }, reads = { "found" },
  gives = { transfers = "copies by stage, direction and kind of host memory" } }


-- Copies over the used repeats, largest time first, as results.json has them. Those of ROCm have no
-- bytes.
function transfers.list(trace, found)
  local sums, list = {}, json.list {}
  local by = { "direction", "host_memory" }
  if not found.whole then by[3] = "stage" end
  -- the columns of transfers are made for copies and sets alone, few beside the kernels
  local copies = stages.used(trace, errors.check(trace:frame "transfers"), found)
    :where { kind = "copy" }
  for _, group in ipairs(copies:group { by = by, sum = { "bytes" }, total = { "duration" } }) do
    local stage = found.whole and stages.WHOLE_RUN or group.stage
    if stage then
      local direction, pageable = group.direction or "other", nil -- nil: the trace does not say
      if group.host_memory then pageable = group.host_memory == "pageable" end
      local entry = lists.entry(list, sums, tuple(stage, direction, pageable),
        { stage = stage, direction = direction, pageable = pageable, calls = 0, bytes = 0,
          gpu_time_ns = 0 })
      entry.calls = entry.calls + group.count
      entry.bytes = entry.bytes and group.bytes.count == group.count
        and entry.bytes + group.bytes.total or nil
      entry.gpu_time_ns = entry.gpu_time_ns + (group.duration.total or 0)
    end
  end
  return lists.sort(list, "-gpu_time_ns", "stage", "direction",
    function(one) return tostring(one.pageable) end)
end


-- ---- alone on the GPU ----

local HOST = { "host to device", "device to host" }

-- Copies from or to the host that take less than this part of the stages' time are not looked at.
local LEAST = 0.01

-- A function from instances of a stage to the mean time in which the GPU did nothing but copy from
-- or to the host; nil where it did little of that. found: of analysis.stages.find.
function transfers.alone(found)
  -- kernels, which are most, lie in order: a selection of them and of others would be sorted
  local apart = errors.check(found.ops:where { { "kind", "~=", "kernel" } })
  local copies = errors.check(apart:where { kind = "copy", direction = HOST })
  local ns = #copies > 0 and copies:group { sum = { "duration" } }[1].duration.total or 0
  local others, rest = { false }, {} -- what is no copy has no direction
  for _, row in ipairs(apart:group { by = { "direction" } }) do
    local is_host = row.direction == HOST[1] or row.direction == HOST[2]
    if row.direction and not is_host then others[#others + 1] = row.direction end
  end
  local function rest_of(pid)
    local key = pid or 0
    rest[key] = rest[key]
      or errors.check(errors.check(found.ops:where { pid = pid, kind = "kernel" }):union()
        :join(errors.check(apart:where { pid = pid, direction = others }):union()))
    return rest[key]
  end
  return function(instances)
    local wall, sum = lists.sum(instances, "wall"), 0
    if ns < LEAST * wall or wall == 0 then return nil end
    for _, instance in ipairs(instances) do
      local from, to = instance.start, instance.stop
      sum = sum + found.busy(instance.pid):covered(from, to)
        - rest_of(instance.pid):covered(from, to)
    end
    return sum / #instances
  end
end


function transfers.run(state) state.transfers = transfers.list(state.trace, state.found) end


return transfers
