-- Which process of a job reads which files, who sends to whom, what a launcher says; and a
-- job whose processes are coroutines.
local rank_workers = require "llmprof.run.rank_workers"
local errors = require "llmprof.process.errors"
local failure = require "llmprof.error"
local process_pool = require "llmprof.process.pool"
local rank_files = require "llmprof.run.rank_files"
local rank_view = require "llmprof.analysis.serving.ranks"


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
local function run(size, list_files)
  local boxes, routines, results, open = {}, {}, {}, size
  for rank = 0, size - 1 do
    local own = { rank = rank, size = size, line = line_of(rank, boxes) }
    routines[rank] = coroutine.create(function()
      results[rank] = table.pack(rank_workers.run(own, list_files, rank_view.knowledge()))
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
      local results = run(size, function() return files end)
      local list = results[0][1]
      assert.equal(5, #list)
      for i, path in ipairs(files) do assert.equal(path, list[i].path) end
      assert.matches("No such file", list[2].why)
      assert.is_nil(list[2].made)
      assert.truthy(list[5].made.about)
      assert.equal(1200, #list[5].made.collectives)
      for rank = 1, size - 1 do assert.is_nil(results[rank][1]) end
    end
  end)

  it("says it where memory does not hold what was sent", function()
    local unpack = process_pool.unpack
    process_pool.unpack = function() error(failure.nomem(), 0) end
    local line = { receive = function() return "bytes" end }
    local ok, err = pcall(rank_workers.run, { rank = 1, size = 2, line = line })
    process_pool.unpack = unpack
    assert.is_false(ok)
    assert.equal("nomem", err.code)
  end)

  it("ends everywhere when there is nothing to do, with the reason in one", function()
    local results = run(3, function() errors.raise("nothing", "empty") end)
    assert.equal("empty", results[0][2].message)
    for rank = 0, 2 do assert.is_nil(results[rank][1]) end
    assert.is_nil(results[1][2])
  end)
end)
