-- Several processes of this machine that share out work: each begins with all that this one has,
-- and hands its values back as bytes. What fails there is for the caller to do, who then sees what
-- is wrong with it, so that the outcome does not depend on who does the work.
local bounds = require "llmprof.bounds"
local errors = require "llmprof.process.errors"
local fork = require "llmprof.fork"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local sys = require "llmprof.sys"

local process_pool = {}


-- ---- values as bytes ----

-- A value with all that is in it as bytes, and back as it was, for another process of the same
-- llmprof: numbers to the last bit, integers as integers, lists of json.list and json.null as
-- such. A table that is in it twice comes back as two.

local FORMS = { i = "<i8", d = "<d", s = "<s8" }
local PLAIN = { t = true, f = false, ["0"] = json.null }
local LIST = getmetatable(json.list {})
local LETTERS = { integer = "i", float = "d", string = "s" }

-- Of a table its entries, then what ends them.
local function add(parts, value)
  local letter = value == true and "t" or value == false and "f" or value == json.null and "0"
    or LETTERS[math.type(value) or type(value)]
  local mark = not letter and type(value) == "table" and getmetatable(value)
  if not letter and (type(value) ~= "table" or mark and mark ~= LIST) then
    error(("a %s is no value to pack"):format(type(value)))
  end
  parts[#parts + 1] = letter or mark and "l" or "m"
  if FORMS[letter] then parts[#parts + 1] = FORMS[letter]:pack(value) end
  if letter then return end
  for key, entry in next, value do
    add(parts, key)
    add(parts, entry)
  end
  parts[#parts + 1] = "."
end


-- Raises where the value has functions in it, or objects.
function process_pool.pack(value)
  local parts = {}
  add(parts, value)
  return table.concat(parts)
end


local take

local function take_table(bytes, at, made)
  while bytes:byte(at) ~= 46 do
    local key, value
    key, at = take(bytes, at)
    value, at = take(bytes, at)
    made[key] = value
  end
  return made, at + 1
end


function take(bytes, at)
  local letter = bytes:sub(at, at)
  if FORMS[letter] then return FORMS[letter]:unpack(bytes, at + 1) end
  if letter == "m" then return take_table(bytes, at + 1, {}) end
  if letter == "l" then return take_table(bytes, at + 1, json.list {}) end
  if PLAIN[letter] == nil then error "no packed value" end
  return PLAIN[letter], at + 1
end


-- What was packed. Raises where these are not its bytes.
function process_pool.unpack(bytes)
  local value, at = take(bytes, 1)
  if at ~= #bytes + 1 then error "more than the packed value" end
  return value
end


-- ---- the pool ----

-- Handed over in place of what a function that raised did not return.
local FAILED = ""

local Pool = {}
Pool.__index = Pool


-- Threads that may work at once, over all processes.
function process_pool.threads()
  local threads = bounds.get "limits.threads"
  return threads > 0 and threads or (sys.cpu().cores or 1)
end


-- How many processes work on `count` things that take this many bytes of memory each, at the
-- most: as many as threads may, and as memory holds; 1: this one alone.
function process_pool.count(count, bytes)
  local most, memory = math.min(process_pool.threads(), count), bounds.get "limits.bytes"
  if memory > 0 and bytes > 0 then most = math.min(most, math.floor(memory / bytes)) end
  return math.max(most, 1)
end


-- The sizes of files, 0 of what is none.
function process_pool.sizes(paths)
  local sizes = {}
  for i, path in ipairs(paths) do
    local info = fs.stat(path)
    sizes[i] = info and info.size or 0
  end
  return sizes
end


-- Numbers of things by process, the largest first, each to the process that has least so far.
-- sizes: of the things, in bytes; count: of the processes.
function process_pool.shards(sizes, count)
  local order, load, shards = {}, {}, {}
  for i = 1, #sizes do order[i] = i end
  table.sort(order, function(a, b)
    if sizes[a] ~= sizes[b] then return sizes[a] > sizes[b] end
    return a < b
  end)
  for process = 1, count do load[process], shards[process] = 0, json.list {} end
  for _, number in ipairs(order) do
    local least = 1
    for process = 2, count do
      if load[process] < load[least] then least = process end
    end
    -- an empty one costs something, too
    load[least] = load[least] + math.max(sizes[number], 1)
    table.insert(shards[least], number)
  end
  return shards
end


-- The same of those that have a size, in order, for as many processes as there may be. weight:
-- memory that one takes, as a multiple of its size.
local function shards_of(sizes, weight)
  local list, own, largest = {}, {}, 0
  for number, size in ipairs(sizes) do
    if size > 0 then list[#list + 1], own[#own + 1] = number, size end
    largest = math.max(largest, size)
  end
  local shards = process_pool.shards(own, process_pool.count(#list, weight * largest))
  for _, shard in ipairs(shards) do
    for i, place in ipairs(shard) do shard[i] = list[place] end
    table.sort(shard)
  end
  return shards
end


-- Begin with lists of functions, each list in a process of its own, one function after the
-- other, while this one goes on. Each has its share of the threads, or as many as are given, 0
-- for one that only waits for a disk; to this one is left what others do not have or no longer
-- need.
function process_pool.begin(lists, threads)
  local pool = setmetatable({ others = {} }, Pool)
  local share = threads or math.max(process_pool.threads() // (#lists + 1), 1)
  for i, works in ipairs(lists) do
    pool.others[i] = fork.start(share, function(hand_over)
      for _, work in ipairs(works) do
        local ok, packed = pcall(function() return process_pool.pack(work()) end)
        hand_over(ok and packed or FAILED)
      end
    end) or false
  end
  return pool
end


-- What the next function of a list returned: true and that, as packed_tree has it; false: it is
-- to be done here. Waits for it.
function Pool:take(number)
  local other = self.others[number]
  if not other then return false end
  local bytes, message, code = other:take()
  if code == "interrupted" then errors.raise_systems(message, code) end
  if bytes and bytes ~= FAILED then return true, process_pool.unpack(bytes) end
  return false
end


-- End what still runs.
function Pool:close()
  for i, other in ipairs(self.others) do
    if other then other:close() end
    self.others[i] = false
  end
end


Pool.__close = Pool.close


-- What work(number) returns of files, by number, where several processes are worth it; nothing
-- where they are not, or where it returned nil. sizes: of the files, 0 for one to leave out.
-- options: least (bytes of all files below which a process costs more than it saves), weight
-- (memory that a file takes, as a multiple of its size), send and receive (what another process
-- hands over of a value, and what that is made into here; optional).
function process_pool.map(sizes, options, work)
  local all, lists, made = 0, {}, {}
  for _, size in ipairs(sizes) do all = all + size end
  local shards = all >= options.least and shards_of(sizes, options.weight) or {}
  if #shards < 2 then return made end
  for i = 2, #shards do
    lists[i - 1] = { function()
      local there = {}
      for _, number in ipairs(shards[i]) do
        local value = work(number)
        there[number] = value and options.send and options.send(value) or value
      end
      return there
    end }
  end
  local pool <close> = process_pool.begin(lists)
  for _, number in ipairs(shards[1]) do made[number] = work(number) end
  for i = 1, #lists do
    local ok, there = pool:take(i)
    for number, value in pairs(ok and there or {}) do
      if options.receive then value = options.receive(value) end
      made[number] = value
    end
  end
  return made
end


return process_pool
