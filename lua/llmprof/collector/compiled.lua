-- Lines of what torch.compile generated, as lines of the program: torch, asked for it, tells of
-- each kernel that it generates the lines that it was made from, in a log of its own. Spools get
-- a block in which frames of generated files are told again, so that no reader needs the log.
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local json = require "llmprof.json"

local compiled = {}


-- Where in the folder of spools the logs are.
local FOLDER = "torch"


-- Variables that ask torch for it, unless the user has set them: to keep stacks of kernels, and
-- where to log them.
function compiled.ask(folder, env)
  for name, value in pairs { INDUCTOR_PROVENANCE = "1", TORCH_TRACE = folder .. "/" .. FOLDER } do
    if not os.getenv(name) then env[name] = value end
  end
end


-- ---- the log ----

-- Entries of a log that are read here, by the word that begins each.
local NAMES = { dynamo_output_graph = "graph", inductor_output_code = "code",
  inductor_provenance_tracking_kernel_stack_traces = "stacks" }


-- An entry of a log is a line that ends in JSON, and lines of payload that begin with a tab.
-- each(which, payload, what the JSON says of it).
local function read_log(path, each)
  local which, payload, said = nil, {}, nil
  local function done()
    if which then each(which, table.concat(payload, "\n"), said) end
    which, payload = nil, {}
  end
  for line in io.lines(path) do
    local head = line:match "^%u%d+ .-%] ({.*})$"
    if line:byte() == 9 then
      if which then payload[#payload + 1] = line:sub(2) end
    elseif head then
      done()
      local word = head:match '^{"artifact": {"name": "([%w_]+)"' or head:match '^{"([%w_]+)"'
      which = NAMES[word]
      said = which and (json.decode(head) or {})[word]
    end
  end
  done()
end


-- The lines of a stack as Python prints it, the outermost first: { file, line, name } of each.
local function lines_of(stack)
  local made = {}
  for file, line, name in stack:gmatch 'File "([^"\n]+)", line (%d+), in ([^\n]+)' do
    made[#made + 1] = { file = file, line = tonumber(line), name = name }
  end
  return #made > 0 and made or nil
end


-- Of the names of a graph of torch the lines that they come from, as "file:line".
local function places_of(graph)
  local places, place = {}, nil
  for line in graph:gmatch "[^\n]+" do
    place = line:match "^%s*# File: (.-:%d+) in " or place
    local name = line:match "^%s+([%w_]+):? .*= "
    if name then places[name] = place end
  end
  return places
end


-- Of each line of generated code that launches a kernel what the comments above it say: key, of
-- its stacks, and last, the name of the last operation in it.
local function launches_of(code)
  local launches, of, number = {}, {}, 0
  for line in code:gmatch "([^\n]*)\n?" do
    number = number + 1
    local names = line:match "^%s*# Topologically Sorted Source Nodes: %[(.-)%]"
    if names then
      of = { last = names:match "([%w_]+)$" }
    elseif line:find("# [Provenance debug handles] ", 1, true) then
      of.key = line:match "%] (%S+)%s*$"
    elseif of.key and not line:find "^%s*#" and not line:find "^%s*[%w_]*stream%d+ = " then
      launches[number], of = of, {}
    end
  end
  return launches
end


-- Which stack is that of a kernel: of the last operation that torch fused in it, if that is
-- known.
local function choose(stacks, place)
  local made
  for _, stack in ipairs(type(stacks) == "table" and stacks or {}) do
    made = lines_of(stack) or made
    local inner = made and made[#made]
    if inner and place == inner.file .. ":" .. inner.line then break end
  end
  return made
end


-- The stacks of one log, by generated file and line.
local function take_log(path, told)
  local places, launches, file = {}, {}, nil
  read_log(path, function(which, payload, said)
    if which == "graph" then
      places = places_of(payload)
    elseif which == "code" then
      file = type(said) == "table" and said.filename
      launches = launches_of(payload)
    elseif file then
      local stacks, made = json.decode(payload), {}
      for number, of in pairs(type(stacks) == "table" and launches or {}) do
        made[number] = choose(stacks[of.key], places[of.last])
      end
      told[file] = made
    end
  end)
end


-- What torch logged in a folder of spools: stacks by generated file and line.
local function logged_in(folder)
  local told, logs = {}, folder .. "/" .. FOLDER
  local info = fs.lstat(logs)
  for _, name in ipairs(info and info.type == "directory" and files.list(logs) or {}) do
    local path = logs .. "/" .. name
    local file = fs.lstat(path) -- opening a named pipe would wait
    if file and file.type == "file" then take_log(path, told) end
  end
  return told
end


-- ---- the spool ----

-- As core/collector/spool.h has it.
local BLOCK, RECORD, STRING, FRAME, STACK = "<c8I2I2I4I4I4I8", "<I4I2I2", 1, 9, 18
local BLOCK_SIZE, BLOCK_MOST = 32, 16 << 20
local START, PRIME = 0xcbf29ce484222325, 1099511628211


local function checksum(sum, bytes)
  for at = 1, #bytes, 8 do
    sum = (sum ~ string.unpack("<i8", bytes, at)) * PRIME
  end
  return sum
end


-- The records of a spool: each(kind, bytes, where its fields begin). Returns the magic, the
-- version and the number of the block that would come next; nil where the file is not whole.
local function read_spool(path, each)
  local from <close> = assert(io.open(path, "rb"))
  local magic, version, sequence = nil, nil, nil
  while true do
    local head = from:read(BLOCK_SIZE)
    if not head then return magic, version, sequence and sequence + 1 end
    if #head < BLOCK_SIZE then return nil end
    local _, length
    local is_first = sequence == nil
    magic, version, _, sequence, length = string.unpack(BLOCK, head)
    if is_first ~= (sequence == 0) then return nil end
    local bytes = from:read(length) or ""
    if #bytes < length then return nil end
    local at = 1
    while at + 8 <= #bytes do
      local size, kind = string.unpack(RECORD, bytes, at)
      if size < 8 or at + size - 1 > #bytes then return nil end
      each(kind, bytes, at + 8)
      at = at + size
    end
  end
end


-- What a spool says of stacks: text by number of string, frames and stacks by theirs, and the
-- numbers behind the last of each. of_file: what is told of a generated file.
local function read_stacks(path, of_file)
  local of = { texts = {}, frames = {}, stacks = {}, last = { 0, 0, 0 } }
  local function last(i, number) of.last[i] = math.max(of.last[i], number) end
  of.magic, of.version, of.sequence = read_spool(path, function(kind, bytes, at)
    if kind == STRING then
      local id, size = string.unpack("<I4I4", bytes, at)
      of.texts[id] = bytes:sub(at + 8, at + 7 + size)
      last(1, id)
    elseif kind == FRAME then
      local number, file, name, line, module = string.unpack("<I4I4I4I4I4", bytes, at)
      local told = of_file[of.texts[file]]
      of.frames[number] = { file = file, name = name, module = module,
        made_of = told and told[line] }
      last(2, number)
    elseif kind == STACK then
      local number, parent, frame = string.unpack("<I4I4I4", bytes, at)
      of.stacks[number] = { parent = parent, frame = frame }
      last(3, number)
    end
  end)
  return of
end


-- The records of a block that tells stacks of generated code again.
local Writer = {}
Writer.__index = Writer


function Writer:add(kind, rest, ...)
  local fixed = 8 + 4 * select("#", ...)
  local bytes = rest .. ("\0"):rep(-#rest % 8)
  self.size = self.size + fixed + #bytes
  self[#self + 1] = string.pack("<I4I2I2" .. ("I4"):rep(select("#", ...)), fixed + #bytes, kind,
    fixed, ...) .. bytes
end


function Writer:next(i)
  self.of.last[i] = self.of.last[i] + 1
  return self.of.last[i]
end


function Writer:text(text)
  if not self.ids[text] then
    self.ids[text] = self:next(1)
    self:add(STRING, text, self.ids[text], #text)
  end
  return self.ids[text]
end


-- A line that a kernel was made of, which runs for that module: its frame.
function Writer:frame(line, module)
  local file, name = self:text(line.file), self:text(line.name)
  local number = self:next(2)
  self:add(FRAME, "", number, file, name, line.line, module, 0)
  return number
end


-- Is the function of this line on the stack, or one that it is in?
local function is_on(of, stack, line)
  while stack do
    local frame = of.frames[stack.frame]
    if frame and of.texts[frame.file] == line.file
      and (of.texts[frame.name] or ""):match "[^.]*$" == line.name then return true end
    stack = of.stacks[stack.parent]
  end
  return false
end


-- A stack whose innermost line is generated ends in those that this was made of. What runs
-- compiled is on the stack itself, and its first line then.
function Writer:tell(number, stack)
  local of = self.of
  local generated = of.frames[stack.frame]
  local made_of, parent = generated.made_of, stack.parent
  local first = #made_of > 1 and is_on(of, of.stacks[parent], made_of[1]) and 2 or 1
  for i = first, #made_of do
    local frame = self:frame(made_of[i], generated.module)
    local is_last = i == #made_of
    local at = is_last and number or self:next(3)
    self:add(STACK, "", at, parent, frame, 0)
    parent = at
  end
end


-- Its block; nil where no stack has a line that is told of. What was called from such a line is
-- told again, too: it refers to the stack that it was called from.
local function block_of(of)
  local writer, again, numbers = setmetatable({ of = of, ids = {}, size = 0 }, Writer), {}, {}
  for number in pairs(of.stacks) do numbers[#numbers + 1] = number end
  table.sort(numbers)
  for _, number in ipairs(numbers) do
    local stack = of.stacks[number]
    local frame = of.frames[stack.frame]
    if frame and frame.made_of then
      again[number] = true
      writer:tell(number, stack)
    elseif again[stack.parent] then
      again[number] = true
      writer:add(STACK, "", number, stack.parent, stack.frame, 0)
    end
  end
  if #writer == 0 or writer.size > BLOCK_MOST then return nil end
  local bytes = table.concat(writer)
  local function head(sum)
    return string.pack("<c8I2I2I4I4I4i8", of.magic, of.version, 0, of.sequence, #bytes, #writer,
      sum)
  end
  return head(checksum(checksum(START, head(0)), bytes)) .. bytes
end


-- For each spool of a folder, by name, the block that goes behind it; an empty table where
-- nothing was compiled.
function compiled.blocks(folder, names)
  local told, blocks = logged_in(folder), {}
  if not next(told) then return blocks end
  for _, name in ipairs(names) do
    local of = read_stacks(folder .. "/" .. name, told)
    if of.sequence then blocks[name] = block_of(of) end
  end
  return blocks
end


return compiled
