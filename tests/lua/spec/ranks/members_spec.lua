-- Which ranks a trace has, and in which order.
local frame = require "llmprof.frame"
local members = require "llmprof.ranks.members"
local lists = require "llmprof.tables.lists"
local support = require "tests.lua.support.ranks"

-- A trace of a kernel for each { pid, device, name of the process }.
local function trace_of(list)
  local pids, devices, names = {}, {}, {}
  for i, entry in ipairs(list) do
    pids[i], devices[i], names[i] = entry[1], entry[2], { pid = entry[1], name = entry[3] }
  end
  local kernels = assert(frame.new(#list, { { name = "pid", type = "integer", values = pids },
    { name = "device", type = "integer", values = devices } }))
  return { frame = function() return kernels end, processes = function() return names end }
end

-- Their processes, by rank.
local function pids_of(list)
  local found = {}
  for i, member in ipairs(members.find(trace_of(list))) do
    assert.equal(i - 1, member.rank)
    found[i] = member.pid
  end
  return found
end


describe("members of a trace", function()
  it("are in the order of GPUs, then of processes", function()
    assert.same({ 13, 10, 11 }, pids_of { { 10, 1, "a" }, { 11, 1, "a" }, { 13, 0, "a" } })
  end)

  it("are in the order of the ranks that they are told, when they share GPUs", function()
    assert.same({ 13, 12, 11, 10 }, pids_of { { 10, 1, "python3 rank 3" },
      { 11, 0, "python3 rank 2" }, { 12, 1, "python3 rank 1" }, { 13, 0, "python3 rank 0" } })
  end)

  it("are in the order of places first", function()
    assert.same({ 11, 10 }, pids_of { { 10, 0, "Worker_TP1 rank 0" },
      { 11, 1, "Worker_TP0 rank 1" } })
  end)

  it("are in the order of GPUs where not all are told a rank", function()
    assert.same({ 11, 10, 12 }, pids_of { { 10, 1, "python3 rank 0" }, { 11, 0, "python3" },
      { 12, 2, "python3 rank 1" } })
  end)
end)


describe("ranks of traces of torch.profiler, which say of how many they are one", function()
  -- A rank, by its number, for each of what processes say.
  local function ranks(numbers, form)
    local list = {}
    for i, number in ipairs(numbers) do
      list[i] = { rank = number, process = (form or "python rank %d of 9"):format(number) }
    end
    return list
  end

  it("lack those that no file is of, the last ones, too", function()
    assert.same({ "rank 2", "ranks 4 to 8" }, members.missing(ranks { 0, 1, 3 }))
    assert.same({ "rank 2" }, members.missing(ranks({ 0, 1, 3 }, "python rank %d")))
    assert.same({}, members.missing(ranks { 0 })) -- one alone is said elsewhere
    assert.same({}, members.missing(ranks({ 0, 1 }, "python rank 7 of 9")))
  end)

  it("are told where two say the same number", function()
    local parts = support.parts(support.four())
    for i, number in ipairs { 0, 1, 0, 2 } do
      parts[i].about.ranks[1].process = ("python rank %d of 4"):format(number)
    end
    assert.is_true(lists.has(support.examine(parts).left_out, "rank2.sqlite: says rank 0 as "
      .. "rank0.sqlite does: ranks are numbered by their files"))
  end)
end)
