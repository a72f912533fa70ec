-- Files of ranks read by several processes at once: the same as by one.
local bounds = require "llmprof.bounds"
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local rank_crew = require "llmprof.run.rank_crew"
local rank_files = require "llmprof.run.rank_files"
local rank_view = require "llmprof.analysis.rank_view"
local spawn = require "llmprof.spawn"

local FOUR = "tests/fixtures/ranks4"


-- What a reader makes of files, in order; and how many of them it read itself.
local function read(files, threads)
  local least, had, own, reader = rank_crew.LEAST, bounds.get "limits.threads", 0, rank_files.read
  rank_crew.LEAST = 0
  bounds.set("limits.threads", threads)
  rank_files.read = function(path, knowledge)
    if path:sub(-#rank_files.SUFFIX) ~= rank_files.SUFFIX then own = own + 1 end
    return reader(path, knowledge)
  end
  local ok, list = pcall(rank_crew.read, files, rank_view.knowledge())
  rank_files.read, rank_crew.LEAST = reader, least
  bounds.set("limits.threads", had)
  if not ok then error(list, 0) end
  local seen = {}
  for i, file in ipairs(list) do
    seen[i] = { path = file.path, mark = file.mark, why = file.why, bytes = file.bytes }
  end
  return seen, own
end


local function copy(from, to)
  assert(fs.write(to, assert(fs.read(from))))
  return to
end


describe("files of ranks that several processes read", function()
  local files = rank_files.list({ FOUR }, { ".sqlite" })
  local top = bundle.scratch(before_each, after_each)

  it("are as one process reads them", function()
    local alone, all = read(files, 1)
    assert.equal(4, all)
    for _, count in ipairs { 2, 3, 4, 9 } do
      local together, own = read(files, count)
      assert.same(alone, together)
      assert.equal(0, own)
    end
  end)

  it("are left out for the same reason", function()
    local broken = top() .. "/broken.sqlite"
    assert(fs.write(broken, "no trace"))
    local list = { files[1], files[2], broken, top() .. "/missing.sqlite" }
    local alone = read(list, 1)
    assert.truthy(alone[3].why)
    assert.same(alone, (read(list, 4)))
  end)

  it("are read by one process where two have one name", function()
    assert(fs.mkdirs(top() .. "/a"))
    local same = copy(files[2], top() .. "/a/rank0.sqlite")
    local _, own = read({ files[1], same }, 2)
    assert.equal(2, own)
  end)

  it("are no longer read when a signal came", function()
    local start, ended = spawn.start, 0
    spawn.start = function()
      return { pump = function() return false end,
        wait = function() return { interrupted = 15 } end,
        close = function() ended = ended + 1 end }
    end
    local ok, err = pcall(read, files, 2)
    spawn.start = start
    assert.is_false(ok)
    assert.equal("interrupted", err.kind)
    assert.equal(2, ended)
  end)

  it("are read by as many as memory holds", function()
    local weight = rank_crew.WEIGHT
    rank_crew.WEIGHT = bounds.get "limits.bytes" / fs.stat(files[1]).size
    local _, own = read({ files[1], files[2] }, 2)
    rank_crew.WEIGHT = weight
    assert.equal(2, own)
  end)
end)
