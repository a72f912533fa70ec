-- Files of ranks: which there are, and their parts, one file in memory at a time.
local digest = require "llmprof.digest"
local errors = require "llmprof.process.errors"
local folders = require "llmprof.io.files"
local fs = require "llmprof.fs"
local interrupt = require "llmprof.interrupt"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local part = require "llmprof.ranks.part"
local process_pool = require "llmprof.process.pool"
local sorted_keys = require("llmprof.tables.keys").sorted
local trace = require "llmprof.trace"
local trace_file = require "llmprof.trace.file"

local rank_files = {}


-- ---- files of ranks ----

-- What a part's file is called.
rank_files.SUFFIX = ".part"


-- What a file is called, with SUFFIX its part.
function rank_files.name_of(path) return (path:match "([^/]*)$":gsub("%.sqlite$", "")) end


local function is_part(path) return path:sub(-#rank_files.SUFFIX) == rank_files.SUFFIX end


-- Of the files of a folder, those that a reader claims as a timeline, and others that end
-- like these: what is wrong with them is said when they are read.
function rank_files.traces(paths)
  local endings = {}
  local function ending(path) return path:match "%.[^./]*$" or "" end
  for _, path in ipairs(paths) do
    if select(2, trace.reader(path)) == true then endings[ending(path)] = true end
  end
  return lists.filtered(paths, function(path) return endings[ending(path)] end)
end


function rank_files.written_parts(paths) return lists.filtered(paths, is_part) end


-- The files that words name: files as they are, of folders those that are picked; sorted,
-- each once.
function rank_files.list(words, pick)
  return sorted_keys(lists.set(lists.flat(words, function(word)
    if not folders.is_folder(word) then return { word } end
    return pick(lists.map(folders.list(word), function(name)
      return word:gsub("/+$", "") .. "/" .. name
    end))
  end)))
end


-- Which of the files are of shard number of count, numbers from 1.
function rank_files.shard(list, number, count)
  local own = {}
  for i = number, #list, count do own[#own + 1] = list[i] end
  return own
end


-- ---- reading ----

local function base(path) return path:match "([^/]*)$" end


-- One file's part, and sentences on what it lacks.
local function part_of(path, knowledge)
  if is_part(path) then
    local made, message = part.decode(errors.check(fs.read(path)))
    return made or errors.raise("failed", ("%s: %s"):format(path, message)), {}
  end
  local opened = trace_file.open(path)
  trace_file.check(opened)
  local made, without = part.of(opened, path, knowledge), trace_file.without_time(opened)
  opened:close()
  interrupt.collect()
  return made, without
end


-- A file that was read: { path, made (its part), bytes (the same), mark (what tells it from the
-- same one under another name), without (sentences on what it lacks) }, or { path, why } it is left
-- out, and code.
function rank_files.read(path, knowledge)
  local ok, made, without = errors.call(part_of, path, knowledge)
  if not ok then
    if made.kind == "interrupted" or made.bug then error(made, 0) end
    return { path = path, why = made.message, code = made.code }
  end
  local bytes, frames = part.encode(made)
  local about = errors.check(json.encode { made.about.epoch or false, made.about.ranks })
  return { path = path, made = made, without = without, bytes = bytes,
    mark = digest.base64(digest.sha256(about .. frames)) }
end


-- For process_pool.map: of a file's part its bytes are enough. Tests change the first two.
rank_files.shares = { least = 64 << 20, weight = 1.5,
  send = function(file)
    return { path = file.path, bytes = file.bytes, mark = file.mark, without = file.without }
  end,
  receive = function(file)
    file.made = part.decode(file.bytes)
    return file.made and file
  end }


-- The same of several files, by several processes where that is worth it. knowledge:
-- llmprof.analysis.serving.ranks.knowledge().
function rank_files.read_all(files, knowledge)
  local list = process_pool.map(process_pool.sizes(files), rank_files.shares, function(number)
    local file = rank_files.read(files[number], knowledge)
    return file.made and file or nil
  end)
  for number, path in ipairs(files) do
    list[number] = list[number] or rank_files.read(path, knowledge)
  end
  return list
end


-- The parts of files that were read, in this order; the names of those that could not be
-- read; and the parts as bytes. left_out gets a line for each of these, for each that is
-- there twice, and for events that a file has no times of. The files' own bytes are taken.
function rank_files.keep(list, left_out)
  local parts, unread, bytes, seen = {}, {}, {}, {}
  for _, file in ipairs(list) do
    local path, why, mark = file.path, file.why, file.mark
    if not file.made then
      if #list == 1 then errors.raise_systems(why, file.code) end
      local start = path .. ": "
      if why:sub(1, #start) == start then why = why:sub(#start + 1) end
      unread[#unread + 1] = base(path)
      left_out[#left_out + 1] = ("%s: left out: %s"):format(base(path), why)
    elseif seen[mark] then
      left_out[#left_out + 1] = ("%s: left out: the same as %s"):format(base(path), seen[mark])
    else
      seen[mark], parts[#parts + 1] = base(path), file.made
      for _, said in ipairs(file.without) do
        left_out[#left_out + 1] = ("%s: %s"):format(base(path), said)
      end
      bytes[#parts] = file.bytes
    end
    file.bytes = nil
  end
  return parts, unread, bytes
end


-- The same for files that are still to be read.
function rank_files.parts(files, knowledge, left_out)
  return rank_files.keep(rank_files.read_all(files, knowledge), left_out)
end


return rank_files
