-- Which process of a job reads which files, who sends to whom, what a launcher says; and a
-- job whose processes are coroutines.
local rank_workers = require "llmprof.run.rank_workers"
local errors = require "llmprof.process.errors"
local frame = require "llmprof.frame"
local json = require "llmprof.json"
local part = require "llmprof.ranks.part"
local rank_files = require "llmprof.run.rank_files"
local rank_view = require "llmprof.analysis.serving.ranks"
local encode = require "llmprof.analysis.timeline.encode"
local support = require "tests.lua.support.ranks"


describe("the tree", function()
  it("leads from every process to the first", function()
    for size = 1, 20 do
      local told = {}
      for rank = 0, size - 1 do
        local to, from = rank_workers.tree(rank, size)
        assert.equal(rank == 0, to == nil)
        assert.truthy(not to or to < rank)
        for _, process in ipairs(from) do told[process] = rank end
      end
      for rank = 1, size - 1 do assert.equal(told[rank], (rank_workers.tree(rank, size))) end
    end
  end)

  it("is no deeper than a number has digits", function()
    local rank, steps = 511, 0
    while rank do
      rank, steps = rank_workers.tree(rank, 512), steps + 1
    end
    assert.equal(10, steps)
  end)
end)


describe("a launcher", function()
  local function told(variables)
    return rank_workers.launcher(function(name) return variables[name] end)
  end

  it("is none where nothing is said, or one process", function()
    assert.is_nil(told {})
    assert.is_nil(told { OMPI_COMM_WORLD_SIZE = "1", OMPI_COMM_WORLD_RANK = "0" })
    assert.is_nil(told { SLURM_STEP_NUM_TASKS = "4" })
    assert.is_nil(told { OMPI_COMM_WORLD_SIZE = "four", OMPI_COMM_WORLD_RANK = "0" })
  end)

  it("says how many, which, and which here", function()
    assert.same({ name = "mpirun", size = 4, rank = 3, here = 1, mpis = { "openmpi" } },
      told { OMPI_COMM_WORLD_SIZE = "4", OMPI_COMM_WORLD_RANK = "3",
        OMPI_COMM_WORLD_LOCAL_RANK = "1" })
    assert.same({ name = "srun", size = 2, rank = 1, here = 0, mpis = { "openmpi", "mpich" } },
      told { SLURM_STEP_NUM_TASKS = "2", SLURM_PROCID = "1", SLURM_LOCALID = "0" })
    assert.same({ name = "mpiexec", size = 2, rank = 1, here = 1, mpis = { "mpich" } },
      told { PMI_SIZE = "2", PMI_RANK = "1" })
  end)

  it("is the inner one of two, and none where that is wanted", function()
    local both = { SLURM_STEP_NUM_TASKS = "2", SLURM_PROCID = "1", OMPI_COMM_WORLD_SIZE = "4",
      OMPI_COMM_WORLD_RANK = "2" }
    assert.equal("mpirun", told(both).name)
    both.LLMPROF_MPI = "none"
    assert.is_nil(told(both))
  end)
end)


-- A line between processes that are coroutines: what is not there yet is waited for.
local function line_of(rank, boxes)
  local function box(from, to)
    local key = from .. ">" .. to
    boxes[key] = boxes[key] or {}
    return boxes[key]
  end
  return {
    send = function(_, to, bytes) table.insert(box(rank, to), bytes) return true end,
    receive = function(_, from)
      while #box(from, rank) == 0 do coroutine.yield() end
      return table.remove(box(from, rank), 1)
    end,
    finish = function() return true end,
  }
end

-- What rank_workers.run returns in each of this many processes.
local function run(size, list_files, use)
  local boxes, routines, results, open = {}, {}, {}, size
  for rank = 0, size - 1 do
    local own = { rank = rank, size = size, line = line_of(rank, boxes) }
    routines[rank] = coroutine.create(function()
      results[rank] = table.pack(rank_workers.run(own, list_files, rank_view.knowledge(), nil, use))
      open = open - 1
    end)
  end
  for _ = 1, 100000 do
    for rank = 0, size - 1 do
      if coroutine.status(routines[rank]) == "suspended" then
        assert(coroutine.resume(routines[rank]))
      end
    end
    if open == 0 then break end
  end
  assert.equal(0, open)
  return results
end


local FOUR = "tests/fixtures/ranks4"

describe("a job", function()
  it("brings every file to the first process, in order, and nothing to the others", function()
    local files = rank_files.list({ FOUR }, rank_files.traces)
    table.insert(files, 2, "/nowhere/rank9.sqlite")
    for size = 1, 6 do
      local results = run(size, function() return files end, function(list) return list end)
      local list = results[0][1]
      assert.equal(5, #list)
      for i, path in ipairs(files) do assert.equal(path, list[i].path) end
      assert.matches("No such file", list[2].why)
      assert.is_nil(list[2].made)
      assert.truthy(list[5].made.about)
      assert.equal(1200, list[5].made.found)
      for rank = 1, size - 1 do assert.is_nil(results[rank][1]) end
    end
  end)

  it("ends everywhere when there is nothing to do, with the reason in one", function()
    local results = run(3, function() errors.raise("nothing", "empty") end)
    assert.equal("empty", results[0][2].message)
    for rank = 0, 2 do assert.is_nil(results[rank][1]) end
    assert.is_nil(results[1][2])
  end)

  it("ends everywhere when the first process can make nothing of the files", function()
    local files = rank_files.list({ FOUR }, rank_files.traces)
    local results = run(3, function() return files end,
      function() errors.raise("failed", "useless") end)
    assert.equal("useless", results[0][2].message)
    for rank = 0, 2 do assert.is_nil(results[rank][1]) end
  end)
end)


-- ---- collectives matched by all ----

-- The record and what a page draws, of files that were read. ask: of rank_workers.run.
local function made_of(list, ask)
  local left_out = {}
  local parts, unread = rank_files.keep(list, left_out)
  local results, made = rank_view.results(parts, rank_view.knowledge(), "ranks", left_out, unread,
    ask and { ask = ask, drawn = encode.LANES } or nil)
  results.run.created = nil
  local events = rank_view.events(made)
  return { json = assert(json.encode(results)), events = events or "none", ask = ask }
end


describe("the exchange of collectives", function()
  local read, lanes = rank_files.read, encode.LANES
  after_each(function() rank_files.read, encode.LANES = read, lanes end)

  -- Files of four ranks, each changed by a function of its part and its number, from 0; what one
  -- process makes of them and what several do is the same.
  local function check(change, exchanges)
    local files = rank_files.list({ FOUR }, rank_files.traces)
    function rank_files.read(path, knowledge)
      local file = read(path, knowledge)
      if change then
        change(file.made, tonumber(path:match "(%d)%.sqlite$"))
        file.bytes = part.encode(file.made)
        file.made = assert(part.decode(file.bytes))
      end
      return file
    end
    local list = {}
    for i, path in ipairs(files) do list[i] = rank_files.read(path, rank_view.knowledge()) end
    local one = made_of(list)
    for size = 2, 4 do
      local many = run(size, function() return files end, made_of)[0][1]
      assert.equal(exchanges ~= false, many.ask ~= nil)
      assert.equal(one.json, many.json)
      assert.is_true(one.events == many.events) -- bytes that no terminal shows
    end
    return json.decode(one.json).ranks
  end

  -- A frame with other values in a column. get: a function of the row, from 1, and the value.
  local function with(made, name, get)
    local columns = made:columns()
    for _, column in ipairs(columns) do
      column.values = made:values(column.name)
      for row = 1, column.name == name and #made or 0 do
        column.values[row] = get(row, column.values[row])
      end
    end
    return assert(frame.new(#made, columns))
  end

  it("makes what one process makes", function()
    assert.equal(2, check().verdict.rank)
  end)

  it("does so with several communicators", function()
    local record = check(function(made, rank)
      made.collectives = with(made.collectives, "communicator", function(row)
        return row % 3 == 0 and 7 or 100 + rank // 2
      end)
    end)
    assert.equal(1200, record.ranks[1].matched)
  end)

  it("does so where clocks differ", function()
    local record = check(function(made, rank)
      local moved = rank == 3 and support.shifted(made, 5000000, 20e-6) or made
      made.steps, made.collectives = moved.steps, moved.collectives
    end)
    assert.equal("collectives", record.files[4].clock)
  end)

  it("does so where a rank was seen from later on, and one lacks some", function()
    local record = check(function(made, rank)
      local all = made.collectives
      if rank == 1 then
        made.collectives = assert(all:where { { "start", ">=", all:get(113, "start") } })
      elseif rank == 2 then
        made.collectives = assert(all:where { { "place", "~=", 5 } })
      end
    end)
    assert.equal(1200 - 112, record.ranks[2].collectives)
    assert.truthy(#record.left_out > 0)
  end)

  it("does so where a rank has no collectives, and one no steps", function()
    local record = check(function(made, rank)
      if rank == 0 then made.collectives = assert(made.collectives:where { stream = -1 }) end
      if rank == 3 then
        made.steps = nil
        made.collectives = assert(made.collectives:select { "rank", "name", "short_name", "stream",
          "communicator", "message", "p2p", "start", "end", "duration", "api_start", "previous",
          "before", "signature", "hidden", "work_before" })
        made.kernels = assert(made.kernels:select { "rank", "name", "short_name", "duration",
          "count" })
      end
    end)
    assert.equal(0, record.ranks[1].collectives)
  end)

  it("does so where none has collectives", function()
    local record = check(function(made)
      made.collectives = assert(made.collectives:where { stream = -1 })
    end)
    assert.is_nil(record.totals)
  end)

  it("does so where a rank's clock cannot be put right", function()
    local record = check(function(made, rank)
      if rank == 1 then
        made.collectives = with(made.collectives, "end", function(row, value)
          return value + row * row % 977 * 100000
        end)
      end
    end)
    assert.matches("cannot be put right", table.concat(record.left_out, "\n"), 1, true)
  end)

  it("does so where a page draws fewer ranks than there are", function()
    encode.LANES = 2
    check()
  end)

  it("is left where ranks send to each other", function()
    check(function(made)
      made.busy = assert(made.collectives:select { "rank", "start", "end" })
    end, false)
  end)
end)
