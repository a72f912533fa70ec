-- Work beside other work: in further processes, which begin with all that this one has. What
-- does not come about there is for the caller to do, who then sees what is wrong with it; so
-- that whoever does the work, the outcome is the same.
local bounds = require "llmprof.bounds"
local deal = require "llmprof.base.deal"
local errors = require "llmprof.base.errors"
local fork = require "llmprof.fork"
local fs = require "llmprof.fs"
local packed_tree = require "llmprof.base.packed_tree"
local sys = require "llmprof.sys"

local beside = {}

-- Handed over in place of what a function that raised did not return.
local FAILED = ""

local Crew = {}
Crew.__index = Crew


-- Threads that may work at once, over all processes.
function beside.threads()
  local threads = bounds.get "limits.threads"
  return threads > 0 and threads or (sys.cpu().cores or 1)
end


-- How many processes work on `count` things that take so many bytes of memory each, at the
-- most: as many as threads may, and as memory holds; 1: this one alone.
function beside.count(count, bytes)
  local most, memory = math.min(beside.threads(), count), bounds.get "limits.bytes"
  if memory > 0 and bytes > 0 then most = math.min(most, math.floor(memory / bytes)) end
  return math.max(most, 1)
end


-- The sizes of files, 0 of what is none, and their sum.
function beside.sizes(paths)
  local sizes, all = {}, 0
  for i, path in ipairs(paths) do
    local info = fs.stat(path)
    sizes[i] = info and info.size or 0
    all = all + sizes[i]
  end
  return sizes, all
end


-- Numbers of files by process, this one's first, in order; none of those of no size. weight:
-- memory that one takes, as a multiple of its size.
function beside.hands(sizes, weight)
  local list, own, largest = {}, {}, 0
  for number, size in ipairs(sizes) do
    if size > 0 then list[#list + 1], own[#own + 1] = number, size end
    largest = math.max(largest, size)
  end
  local hands = deal(own, beside.count(#list, weight * largest))
  for _, hand in ipairs(hands) do
    for i, place in ipairs(hand) do hand[i] = list[place] end
    table.sort(hand)
  end
  return hands
end


-- Begin with lists of functions, each list in a process of its own, one function after the
-- other, while this one goes on. Each has its share of the threads; to this one is left what
-- others do not have or no longer need.
function beside.begin(lists)
  local crew = setmetatable({ others = {} }, Crew)
  local share = math.max(beside.threads() // (#lists + 1), 1)
  for i, works in ipairs(lists) do
    crew.others[i] = fork.start(share, function(hand_over)
      for _, work in ipairs(works) do
        local ok, packed = pcall(function() return packed_tree.pack(work()) end)
        hand_over(ok and packed or FAILED)
      end
    end) or false
  end
  return crew
end


-- What the next function of a list returned: true and that, as packed_tree has it; false: it is
-- to be done here. Waits for it.
function Crew:take(number)
  local other = self.others[number]
  if not other then return false end
  local bytes, message, code = other:take()
  if code == "interrupted" then errors.raise_systems(message, code) end
  if bytes and bytes ~= FAILED then return true, packed_tree.unpack(bytes) end
  return false
end


-- Does any of it run still?
function Crew:is_busy()
  for _, other in ipairs(self.others) do
    if other and not other:ended() then return true end
  end
  return false
end


-- Wait until none does.
function Crew:rest()
  for _, other in ipairs(self.others) do
    if other then errors.check(other:rest()) end
  end
end


-- Call f here. Where memory does not hold it beside the others it is called again when they
-- have ended.
function Crew:call(f, ...)
  local busy = self:is_busy()
  local ok, result = errors.call(f, ...)
  if ok then return result end
  if not busy or result.code ~= "nomem" then error(result, 0) end
  self:rest()
  return f(...)
end


-- End what still runs.
function Crew:close()
  for i, other in ipairs(self.others) do
    if other then other:close() end
    self.others[i] = false
  end
end


Crew.__close = Crew.close


return beside
