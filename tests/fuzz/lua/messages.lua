-- What another process of a job sends: the files that are dealt, and those that it has read,
-- with other heads or other bytes.
local rank_workers = require "llmprof.run.rank_workers"
local fs = require "llmprof.fs"
local given = dofile "tests/fuzz/lua/given.lua"
local json = require "llmprof.json"
local rank_view = require "llmprof.analysis.serving.ranks"

local TOP = given.folder()

assert(given.command("ranks", "--shard", "1/1", "-o", TOP,
  "tests/fixtures/two_gpus/run.sqlite") == 0)
local PART = TOP .. "/" .. assert(fs.list(TOP))[1]
local knowledge = rank_view.knowledge()


-- A process of two that hears `bytes` from the other one; what it says is kept.
local function process(rank, bytes)
  local own = { rank = rank, size = 2, said = {} }
  own.line = {
    receive = function() return bytes end,
    send = function(_, _, said)
      own.said[#own.said + 1] = said
      return true
    end,
    finish = function() return true end,
  }
  return own
end


local function run(rank, bytes)
  local own = process(rank, bytes)
  rank_workers.run(own, function() return { PART, PART .. "x" } end, knowledge, 1,
    function(list) return list end)
  return own.said[#own.said]
end


-- What the other process would say, were it one of ours.
local HAND = run(0, "[]\n")
local READ = run(1, HAND)


local function with_head(bytes, input)
  local line, rest = bytes:match "^([^\n]*)(.*)$"
  local head = json.decode(line)
  given.change(head, input)
  return (json.encode(head) or "") .. rest
end


local changes = { with_head, with_head, given.patch, function(_, input) return input:rest() end }


function fuzz(bytes) -- luacheck: ignore 111
  local input = given.input(bytes)
  local rank = input:byte() % 2
  local changed = input:pick(changes)(rank == 0 and READ or HAND, input)
  given.try(run, rank, changed)
end
