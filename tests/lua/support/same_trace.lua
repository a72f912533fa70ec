-- Do two files hold the same trace: all frames, all that it says it knows?
local json = require "llmprof.json"
local trace = require "llmprof.trace"

local same_trace = {}

local FRAMES = { "kernels", "transfers", "graphs", "gpu", "api", "ranges", "projections",
  "kernel_ranges" }
local TABLES = { "kernels", "copies", "sets", "graphs", "api", "ranges" }
local FACTS = { "calls", "graph_nodes", "host_memory", "payloads", "allocations", "diagnostics" }


local function is_same(a, b)
  return a == b or (a ~= a and b ~= b)
end


local function compare_column(a, b, frame, column)
  local before, after = a:values(column), b:values(column)
  for i = 1, #a do
    if not is_same(before[i], after[i]) then
      error(("%s.%s of row %d was %s, is %s"):format(frame, column, i, tostring(before[i]),
        tostring(after[i])))
    end
  end
end


local function compare_frames(a, b, name)
  if #a ~= #b then error(("%s had %d rows, has %d"):format(name, #a, #b)) end
  for _, column in ipairs(a:columns()) do compare_column(a, b, name, column.name) end
end


-- What a trace says beside its frames, as a list of texts.
function same_trace.facts(opened)
  local list = { "epoch " .. tostring(opened:info().epoch) }
  for _, name in ipairs(TABLES) do
    list[#list + 1] = ("has %s: %s"):format(name, tostring(opened:has(name)))
  end
  for _, name in ipairs(FACTS) do
    list[#list + 1] = ("knows %s: %s"):format(name, tostring(opened:knows(name)))
  end
  for _, what in ipairs { "devices", "diagnostics" } do
    list[#list + 1] = what .. " " .. json.encode(json.list(opened[what](opened)))
  end
  return list
end


-- Raises the first difference.
function same_trace.compare(before, after)
  local a, b = assert(trace.open(before)), assert(trace.open(after))
  for _, name in ipairs(FRAMES) do
    compare_frames(assert(a:frame(name)), assert(b:frame(name)), name)
  end
  local facts = same_trace.facts(b)
  for i, fact in ipairs(same_trace.facts(a)) do
    if fact ~= facts[i] then error(("%s\nis now\n%s"):format(fact, facts[i])) end
  end
end


return same_trace
