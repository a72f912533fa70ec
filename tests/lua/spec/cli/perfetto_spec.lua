-- What ui.perfetto.dev needs of a file, on exports of several kinds.
local bundle = require "tests.lua.support.bundle"
local json = require "llmprof.json"
local trace = require "llmprof.trace"

local ROOT = debug.getinfo(1, "S").source:match "^@(.-)tests/lua/spec/" or ""

-- Below the first numbers that llmprof gives to processes and threads.
local FIRST_GPU = 1 << 22


-- Times in whole ns: three decimals of us, read through a double.
local function ns(us)
  return math.floor(us * 1000 + 0.5)
end


-- Slices by "pid tid", each lane in order of start, the longer first.
local function lanes_of(events)
  local lanes = {}
  for _, event in ipairs(events) do
    if event.ph == "X" then
      local key = event.pid .. " " .. event.tid
      lanes[key] = lanes[key] or {}
      table.insert(lanes[key], { pid = event.pid, start = ns(event.ts),
        finish = ns(event.ts) + ns(event.dur) })
    end
  end
  for _, lane in pairs(lanes) do
    table.sort(lane, function(a, b)
      if a.start ~= b.start then return a.start < b.start end
      return a.finish > b.finish
    end)
  end
  return lanes
end


-- Slices that cross, or on a GPU run at the same time.
local function conflicts(lane)
  local count, open = 0, {}
  for _, slice in ipairs(lane) do
    while #open > 0 and open[#open].finish <= slice.start do open[#open] = nil end
    local around = open[#open]
    if around and (slice.pid >= FIRST_GPU or slice.finish > around.finish) then
      count = count + 1
    end
    open[#open + 1] = slice
  end
  return count
end


local function count(map)
  local n = 0
  for _ in pairs(map) do n = n + 1 end
  return n
end


-- How many flows begin and end, and begin and end where a slice does.
local function flows_of(events)
  local starts, found = {}, { s = {}, f = {} }
  for _, event in ipairs(events) do
    if event.ph == "X" then starts[("%s %s %s"):format(event.pid, event.tid, event.ts)] = true end
  end
  for _, event in ipairs(events) do
    if found[event.ph] then
      assert.is_nil(found[event.ph][event.id])
      assert.is_true(starts[("%s %s %s"):format(event.pid, event.tid, event.ts)])
      found[event.ph][event.id] = ns(event.ts)
    end
  end
  return found.s, found.f
end


local function names_of(events)
  local names = {}
  for _, event in ipairs(events) do
    if event.ph == "M" then
      names[("%s %s %s"):format(event.name, event.pid, event.tid or "")] = event.args.name
    end
  end
  return names
end


describe("trace:perfetto", function()
  local scratch = bundle.scratch(before_each, after_each)

  local function export(name)
    local path = scratch() .. "/out.json"
    local written = assert(assert(trace.open(ROOT .. name)):perfetto(path))
    return assert(json.load(path)).traceEvents, written
  end

  for _, name in ipairs { "tests/fixtures/graphs/node.sqlite", "tests/fixtures/graphs/graph.sqlite",
    "tests/fixtures/repeats/run.1.sqlite" } do
    it("writes lanes without conflicts, flows in pairs, names for all: " .. name, function()
      local events, written = export(name)
      local lanes = lanes_of(events)
      assert.equal(written.lanes, count(lanes))
      for key, lane in pairs(lanes) do assert.equal(0, conflicts(lane), key) end
      local starts, ends = flows_of(events)
      assert.equal(written.flows, count(starts))
      for id, start in pairs(starts) do assert.is_true(ends[id] >= start) end
      assert.equal(written.flows, count(ends))
      local names = names_of(events)
      for key in pairs(lanes) do
        assert.is_string(names["thread_name " .. key])
        assert.is_string(names["process_name " .. key:match "^%d+" .. " "])
      end
    end)
  end

  it("says what it cannot do", function()
    local opened = assert(trace.open(ROOT .. "tests/fixtures/repeats/run.1.sqlite"))
    local written, message, code = opened:perfetto "/proc/none/out.json"
    assert.is_nil(written)
    assert.equal("/proc/none/out.json: No such file or directory", message)
    assert.equal("notfound", code)
  end)
end)
