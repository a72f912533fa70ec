-- One set of launches from both pages: the raw page's numbers, the details
-- page's rules, and what only one of them holds.
local figures = require "llmprof.nvidia.ncu.figures"
local record = require "llmprof.nvidia.ncu.record"
local row = require "llmprof.nvidia.ncu.row"

local merge = {}


local function key(launch)
  return ("%s:%d"):format(launch.process_id or "", launch.id)
end


-- `first` with the entries of `second` that it lacks; first itself if none.
local function union(first, second)
  local both
  for name, value in pairs(second) do
    if first[name] == nil then
      both = both or {}
      both[name] = value
    end
  end
  if not both then return first end
  for name, value in pairs(first) do both[name] = value end
  return both
end


local function join(raw, details)
  local launch = {}
  for name, value in pairs(raw) do launch[name] = value end
  for name, value in pairs(details) do
    if launch[name] == nil then launch[name] = value end
  end
  launch.metrics = union(raw.metrics, details.metrics)
  launch.units = union(raw.units, details.units)
  launch.sections, launch.section_units = details.sections, details.section_units
  launch.rules = details.rules
  return launch
end


-- merge.launches(raw, details) -> launches | nil, message, code
function merge.launches(raw, details)
  local by_key, launches = {}, {}
  for _, launch in ipairs(details.launches) do by_key[key(launch)] = launch end
  for _, launch in ipairs(raw.launches) do
    local other = by_key[key(launch)]
    if other and other.kernel ~= launch.kernel then
      return nil, ("%s: ID %d is '%s' here and '%s' in %s"):format(details.name, launch.id,
        row.quote(other.kernel or ""), row.quote(launch.kernel or ""), raw.name), "syntax"
    end
    launches[#launches + 1] = join(launch, other or launch)
    by_key[key(launch)] = nil
  end
  for _, launch in ipairs(details.launches) do
    if by_key[key(launch)] then launches[#launches + 1] = join(launch, launch) end
  end
  local list = figures.of_launches(launches)
  for _, launch in ipairs(launches) do record.fill(launch, list) end
  return launches
end


return merge
