-- Files of ranks read by several processes of this machine at once: each makes the parts of
-- its own, which this one takes from a folder. What they could not read is read here, so that
-- what is wrong with it is said as ever.
local bounds = require "llmprof.bounds"
local dealt = require "llmprof.run.dealt"
local errors = require "llmprof.base.errors"
local fs = require "llmprof.fs"
local private = require "llmprof.bundle.private"
local rank_files = require "llmprof.run.rank_files"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

local rank_crew = {}

-- Bytes of files below which a process costs more than it saves. Tests change this and the next.
rank_crew.LEAST = 64 << 20

-- Memory that reading a file takes, as a multiple of its size.
rank_crew.WEIGHT = 1.5

-- Between two looks at a process, in seconds.
local PERIOD = 0.05


-- ---- how many ----

local function sizes_of(files)
  local sizes, all, largest = {}, 0, 0
  for i, path in ipairs(files) do
    local info = fs.stat(path)
    sizes[i] = info and info.size or 0
    all, largest = all + sizes[i], math.max(largest, sizes[i])
  end
  return sizes, all, largest
end


-- Parts are called as their files are: not those of two folders with the same names, nor
-- what is a part already.
local function are_named_apart(files)
  local seen = {}
  for _, path in ipairs(files) do
    local name = rank_files.name_of(path)
    if seen[name] or name:sub(-#rank_files.SUFFIX) == rank_files.SUFFIX then return false end
    seen[name] = true
  end
  return true
end


-- Threads that may read at once.
local function threads_of()
  local threads = bounds.get "limits.threads"
  return threads > 0 and threads or (sys.cpu().cores or 1)
end


-- How many processes read these files.
local function count_of(files, all, largest)
  if all < rank_crew.LEAST or not are_named_apart(files) then return 1 end
  local memory, count = bounds.get "limits.bytes", math.min(threads_of(), #files)
  if memory > 0 then count = math.min(count, math.floor(memory / (rank_crew.WEIGHT * largest))) end
  return math.max(count, 1)
end


-- ---- the others ----

-- Processes that end, at the latest, with the variable that holds them.
local CREW = { __close = function(children)
  for _, child in ipairs(children) do child:close() end
end }


-- Start a process that writes the parts of some files into a folder.
local function start(folder, paths, threads)
  local words = { errors.check("failed", sys.executable()), "ranks", "--shard", "1/1", "--out",
    folder, "-j", tostring(threads), "--" }
  return errors.check("failed", spawn.start(table.move(paths, 1, #paths, #words + 1, words),
    { stdout = "/dev/null", stderr = "/dev/null" }))
end


local function paths_of(hand, files)
  local paths = {}
  for i, number in ipairs(hand) do paths[i] = files[number] end
  return paths
end


-- While others run signals are theirs: this process only waits for them.
local function finish(children)
  local more = true
  while more do
    more = false
    for _, child in ipairs(children) do more = child:pump(PERIOD) or more end
  end
  for _, child in ipairs(children) do
    local result = child:wait()
    if result.interrupted then errors.raise("interrupted", "interrupted") end
  end
end


-- Have every hand's files read into the folder FOLDER/NUMBER.
local function read_apart(folder, hands, files)
  local children <close> = setmetatable({}, CREW)
  local threads = math.max(threads_of() // #hands, 1)
  for i, hand in ipairs(hands) do
    children[i] = start(("%s/%d"):format(folder, i), paths_of(hand, files), threads)
  end
  finish(children)
end


-- ---- all of it ----

-- What another process made of a file; by ourselves where it made nothing.
local function take(folder, path, knowledge)
  local part = folder .. "/" .. rank_files.name_of(path) .. rank_files.SUFFIX
  local file = rank_files.read(part, knowledge)
  if not file.made then return rank_files.read(path, knowledge) end
  file.path = path
  return file
end


local function read_together(files, hands, knowledge)
  local folder <close> = private.folder(fs.realpath(os.getenv "TMPDIR" or "/tmp") or "/tmp")
  read_apart(folder.path, hands, files)
  local list = {}
  for i, hand in ipairs(hands) do
    for _, number in ipairs(hand) do
      list[number] = take(("%s/%d"):format(folder.path, i), files[number], knowledge)
    end
  end
  return list
end


-- Each file as rank_files.read has it. knowledge: rank_view.knowledge() of nothing, which is
-- what the other processes know, too.
function rank_crew.read(files, knowledge)
  local sizes, all, largest = sizes_of(files)
  local count = count_of(files, all, largest)
  if count > 1 then return read_together(files, dealt.deal(sizes, count), knowledge) end
  local list = {}
  for i, path in ipairs(files) do list[i] = rank_files.read(path, knowledge) end
  return list
end


return rank_crew
