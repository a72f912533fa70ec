-- Files of ranks dealt to the processes of a job: each makes the parts of its own, which
-- come together in the first process along a tree.
local errors = require "llmprof.base.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local part = require "llmprof.ranks.part"
local rank_files = require "llmprof.run.rank_files"

local dealt = {}


-- ---- who does what ----

-- Files by process: list of lists of numbers of files. The largest first, each to whoever
-- has least so far. sizes: of the files, in bytes.
function dealt.deal(sizes, count)
  local order, load, hands = {}, {}, {}
  for i = 1, #sizes do order[i] = i end
  table.sort(order, function(a, b)
    if sizes[a] ~= sizes[b] then return sizes[a] > sizes[b] end
    return a < b
  end)
  for process = 1, count do load[process], hands[process] = 0, json.list {} end
  for _, file in ipairs(order) do
    local least = 1
    for process = 2, count do
      if load[process] < load[least] then least = process end
    end
    -- an empty one costs something, too
    load[least] = load[least] + math.max(sizes[file], 1)
    table.insert(hands[least], file)
  end
  return hands
end


-- Who a process sends to, nil for the first; and who sends to it, in order. Numbers from 0.
function dealt.tree(rank, size)
  local from, step = {}, 1
  while step < size do
    if rank & step ~= 0 then return rank - step, from end
    if rank + step < size then from[#from + 1] = rank + step end
    step = step << 1
  end
  return nil, from
end


-- ---- messages ----

-- What came from another process is no message of ours: it may be of another version.
local function refuse(process)
  errors.raise("failed", ("what process %d sent cannot be read"):format(process),
    { hint = "let all processes be of the same llmprof" })
end


-- A list whose entries pass a test.
local function is_list_of(list, is_entry)
  if type(list) ~= "table" then return false end
  for key in pairs(list) do
    if not (math.type(key) == "integer" and key <= #list) then return false end
  end
  for _, entry in ipairs(list) do
    if type(entry) ~= "table" or not is_entry(entry) then return false end
  end
  return true
end


local function is_file(entry)
  return math.type(entry.number) == "integer" and type(entry.path) == "string"
    and not entry.path:find("\0", 1, true)
end


local function is_read_file(entry)
  return is_file(entry)
    and (type(entry.why) == "string" or entry.why == nil and type(entry.mark) == "string")
    and math.type(entry.size) == "integer" and entry.size >= 0
end


-- Files that were read as bytes: a line of JSON, then the parts.
local function encode(list)
  local head, bytes = json.list {}, {}
  for i, file in ipairs(list) do
    local packed = file.bytes or ""
    head[i] = { number = file.number, path = file.path, why = file.why, mark = file.mark,
      size = #packed }
    bytes[i] = packed
  end
  return errors.check("failed", json.encode(head)) .. "\n" .. table.concat(bytes)
end


-- The same back, parts still as bytes.
local function decode(bytes, process)
  local line, at = bytes:match "^([^\n]*)\n()"
  local list = line and json.decode(line)
  if not is_list_of(list, is_read_file) then refuse(process) end
  for i, head in ipairs(list) do
    local file = { number = head.number, path = head.path, why = head.why, mark = head.mark }
    if head.size > #bytes - at + 1 then refuse(process) end
    if not file.why then file.bytes = bytes:sub(at, at + head.size - 1) end
    at, list[i] = at + head.size, file
  end
  return list
end


-- The files that the first process has dealt to this one; nil when there is nothing to do.
local function decode_hand(bytes)
  local said = json.decode(bytes)
  local hand = type(said) == "table" and said.files
  if type(said) ~= "table" or (hand ~= nil and not is_list_of(hand, is_file)) then refuse(0) end
  return hand
end


local function open_parts(list)
  for _, file in ipairs(list) do
    if file.bytes and not file.made then
      file.made = errors.check("failed", part.decode(file.bytes))
    end
  end
  table.sort(list, function(a, b) return a.number < b.number end)
  return list
end


-- ---- the job ----

local function size_of(path)
  local info = fs.stat(path)
  return info and info.size or 0
end


local function check(value, message, code)
  return errors.check("failed", value, message, code)
end


-- Which files each process has: list of lists of { number, path }; nil and the error when
-- there are none.
local function hands_of(own, list_files)
  local ok, files = errors.call(list_files)
  if not ok then return nil, files end
  local sizes = {}
  for i, path in ipairs(files) do sizes[i] = size_of(path) end
  local hands = dealt.deal(sizes, own.size)
  for _, hand in ipairs(hands) do
    for i, number in ipairs(hand) do hand[i] = { number = number, path = files[number] } end
  end
  return hands
end


-- Tell each process which files are its own; returns those of this one, nil when there is
-- nothing to do, in the first process with the error.
local function deal_out(own, list_files, patience)
  if own.rank > 0 then
    return decode_hand(check(own.line:receive(0, patience)))
  end
  local hands, wrong = hands_of(own, list_files)
  for process = 2, own.size do
    check(own.line:send(process - 1, check(json.encode { files = hands and hands[process] }),
      patience))
  end
  return hands and hands[1], wrong
end


-- Read the files of this process. Where they are sent on, their bytes are enough.
local function read(hand, knowledge, is_first)
  local list = {}
  for i, file in ipairs(hand) do
    list[i] = rank_files.read(file.path, knowledge)
    list[i].number = file.number
    if not is_first then list[i].made = nil end
  end
  return list
end


-- All files in the first process; nil in the others.
local function gather(own, list, patience)
  local to, from = dealt.tree(own.rank, own.size)
  for _, process in ipairs(from) do
    local more = decode(check(own.line:receive(process, patience)), process)
    table.move(more, 1, #more, #list + 1, list)
  end
  if not to then return open_parts(list) end
  check(own.line:send(to, encode(list), patience))
  return nil
end


-- All of it: in the first process every file as rank_files.read has it, nil in the others.
-- list_files: a function that is called in the first alone, which gets nil and the error
-- when it raises one. patience: how long one process may wait for another, s; nil: for ever.
function dealt.run(own, list_files, knowledge, patience)
  local hand, wrong = deal_out(own, list_files, patience)
  local list = hand and gather(own, read(hand, knowledge, own.rank == 0), patience)
  check(own.line:finish(patience))
  return list, wrong
end


return dealt
