-- Files of ranks read by several processes at once: the same as by one.
local bounds = require "llmprof.bounds"
local bundle = require "tests.lua.support.bundle"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local process_pool = require "llmprof.process.pool"
local rank_files = require "llmprof.run.rank_files"
local rank_view = require "llmprof.analysis.serving.ranks"

local FOUR = "tests/fixtures/ranks4"


-- What a reader makes of files, in order; and how many of them it read itself.
-- instead(path): what is read in this process, if not nil.
local function read(files, threads, instead)
  local least, had = rank_files.shares.least, bounds.get "limits.threads"
  local own, reader = 0, rank_files.read
  rank_files.shares.least = 0
  bounds.set("limits.threads", threads)
  rank_files.read = function(path, knowledge)
    own = own + 1
    return instead and instead(path) or reader(path, knowledge)
  end
  local ok, list = pcall(rank_files.read_all, files, rank_view.knowledge())
  rank_files.read, rank_files.shares.least = reader, least
  bounds.set("limits.threads", had)
  if not ok then error(list, 0) end
  local seen = {}
  for i, file in ipairs(list) do
    seen[i] = { path = file.path, mark = file.mark, why = file.why, bytes = file.bytes,
      ranks = file.made and #file.made.about.ranks }
  end
  return seen, own
end


local function copy(from, to)
  assert(fs.write(to, assert(fs.read(from))))
  return to
end


describe("files of ranks that several processes read", function()
  local files = rank_files.list({ FOUR }, rank_files.traces)
  local top = bundle.scratch(before_each, after_each)

  it("are as one process reads them", function()
    local alone, all = read(files, 1)
    assert.equal(4, all)
    for _, count in ipairs { 2, 3, 4, 9 } do
      local together, own = read(files, count)
      assert.same(alone, together)
      assert.is_true(own <= 2)
    end
  end)

  it("are left out for the same reason", function()
    local broken = top() .. "/broken.sqlite"
    assert(fs.write(broken, "no trace"))
    local list = { files[1], files[2], broken, top() .. "/missing.sqlite" }
    local alone = read(list, 1)
    assert.truthy(alone[3].why and alone[4].why)
    assert.same(alone, (read(list, 4)))
  end)

  it("may have the same name", function()
    assert(fs.mkdirs(top() .. "/a"))
    local same = copy(files[2], top() .. "/a/rank0.sqlite")
    assert.same((read({ files[1], same }, 1)), (read({ files[1], same }, 2)))
  end)

  it("count once where they hold the same", function()
    local again, left_out = copy(files[1], top() .. "/again.sqlite"), {}
    local list = rank_files.read_all({ files[1], again, files[1] }, rank_view.knowledge())
    assert.equal(1, #rank_files.keep(list, left_out))
    assert.same({ "again.sqlite: left out: the same as rank0.sqlite",
      "rank0.sqlite: left out: the same as rank0.sqlite" }, left_out)
  end)

  it("are read here where no process can be had", function()
    local begin = process_pool.begin
    process_pool.begin = function() return begin {} end
    local seen, own = read(files, 4)
    process_pool.begin = begin
    assert.equal(4, own)
    assert.same((read(files, 1)), seen)
  end)

  it("are read again when memory did not hold them beside others", function()
    local failed, here = {}, fs.readlink "/proc/self"
    local seen = read(files, 2, function(path)
      if failed[path] or fs.readlink "/proc/self" ~= here then return nil end
      failed[path] = true
      return { path = path, why = "out of memory" }
    end)
    assert.same((read(files, 1)), seen)
  end)

  it("are no longer read when a signal came", function()
    local ok, err = pcall(read, files, 2, function() errors.raise("interrupted", "interrupted") end)
    assert.is_false(ok)
    assert.equal("interrupted", err.kind)
  end)

  it("are read by as many as memory holds", function()
    local weight = rank_files.shares.weight
    rank_files.shares.weight = bounds.get "limits.bytes" / fs.stat(files[1]).size
    local _, own = read({ files[1], files[2] }, 2)
    rank_files.shares.weight = weight
    assert.equal(2, own)
  end)
end)
