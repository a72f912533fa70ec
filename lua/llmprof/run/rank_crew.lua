-- Files of ranks read by several processes of this machine at once: each makes the parts of
-- its own. What they could not read is read here, so that what is wrong with it is said as
-- ever; and of files that hold the same one is read.
local alike = require "llmprof.run.alike"
local beside = require "llmprof.base.beside"
local part = require "llmprof.ranks.part"
local rank_files = require "llmprof.run.rank_files"

local rank_crew = {}

-- Bytes of files below which a process costs more than it saves. Tests change this and the next.
rank_crew.LEAST = 64 << 20

-- Memory that reading a file takes, as a multiple of its size.
rank_crew.WEIGHT = 1.5


-- ---- reading ----

-- What another process made of a file, without the part: its bytes tell it.
local function told(file)
  return { path = file.path, bytes = file.bytes, mark = file.mark }
end


-- In another process: by number, what could be read.
local function read_there(hand, files, knowledge)
  local made = {}
  for _, number in ipairs(hand) do
    local file = rank_files.read(files[number], knowledge)
    if file.made then made[number] = told(file) end
  end
  return made
end


-- The files of the other hands into the list, as far as they could be read.
local function take(list, crew, number)
  local ok, made = crew:take(number)
  for at, file in pairs(ok and made or {}) do
    file.made = part.decode(file.bytes)
    if file.made then list[at] = file end
  end
end


local function read_together(hands, files, knowledge)
  local works, list = {}, {}
  for i = 2, #hands do
    works[i - 1] = { function() return read_there(hands[i], files, knowledge) end }
  end
  local crew <close> = beside.begin(works)
  for _, number in ipairs(hands[1]) do
    local file = rank_files.read(files[number], knowledge)
    if file.made then list[number] = file end
  end
  for i = 1, #works do take(list, crew, i) end
  return list
end


-- A file that holds the same as one that was read, whose bytes are enough.
local function copy_of(file, path)
  return { path = path, made = file.made, mark = file.mark }
end


-- Each file as rank_files.read has it. knowledge: rank_view.knowledge().
function rank_crew.read(files, knowledge)
  local sizes, all = beside.sizes(files)
  local first = all >= rank_crew.LEAST and alike.find(files) or {}
  for number in pairs(first) do sizes[number] = 0 end
  local hands = all < rank_crew.LEAST and {} or beside.hands(sizes, rank_crew.WEIGHT)
  local list = #hands > 1 and read_together(hands, files, knowledge) or {}
  for number, path in ipairs(files) do
    local same = list[first[number]]
    list[number] = list[number] or same and same.made and copy_of(same, path)
      or rank_files.read(path, knowledge)
  end
  return list
end


return rank_crew
