-- Opening what a user calls a trace.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local lists = require "llmprof.tables.lists"
local text = require "llmprof.text"
local trace = require "llmprof.trace"
local limits = require "llmprof.process.limits"
local folders = require "llmprof.io.files"

local trace_file = {}

-- ---- opening ----

trace_file.AGAIN = "copy or export it again"

-- Codes of a file that is something else than a trace.
local NO_TRACE = { syntax = true, unsupported = true, empty = true }

-- The trace, or an error that says what the file is and what to do about it.
function trace_file.open(path)
  if path == "" then
    errors.raise("usage", "an empty file name", { hint = "name the file of a trace" })
  end
  local info = fs.stat(path) -- only of large files something is kept
  local cache = info and info.size >= trace_file.CACHE_LEAST and trace_file.cache_options() or nil
  local opened, message, code = trace.open(path, cache)
  if opened then return opened end
  local hint = code == "truncated" and trace_file.AGAIN or NO_TRACE[code] and trace.hint(path)
  errors.raise((code == "notfound" or NO_TRACE[code]) and "usage" or "failed", message,
    { hint = hint or nil, code = code })
end


-- ---- is it whole ----

-- Is a timeline fit to be analysed? Readers leave out events without a start or that end before
-- it. What comes after this asks no more than that no sum or difference of times leaves 64 bits,
-- and that launches have a whole shape.

-- Columns of kernels that are all there or all absent: graphs of other makers' GPUs are
-- recorded without.
local SHAPE = { "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z" }

-- Frames with times, which are no further from 0 than this, in ns (36 years): differences and sums
-- of two fit into 64 bits. Blocks of columns tell it without their values.
local TIMED = { "gpu", "api", "ranges" }
local FAR = 1 << 60


local check = errors.check


local function damaged(opened, form, ...)
  errors.raise("failed", opened:info().path .. ": " .. form:format(...),
    { hint = trace_file.AGAIN })
end


-- Raises when rows of the frame meet the conditions. what: what they then do.
local function refuse(opened, frame, name, conditions, what)
  local count = #check(frame:where(conditions))
  if count == 0 then return end
  damaged(opened, "%s of %s rows of '%s' %s", text.count(count), text.count(#frame), name,
    what)
end


local function check_times(opened, name)
  local frame = check(opened:frame(name))
  for _, column in ipairs { "start", "duration" } do
    refuse(opened, frame, name, { { column, ">", FAR } }, "end impossibly late")
  end
  local long = math.maxinteger // math.max(#frame, 1)
  if #check(frame:where { { "duration", ">", long } }) == 0 then return end
  local added, why = pcall(frame.group, frame, { sum = { "duration" } })
  if added then return end
  if not (errors.is(why) and why.code == "range") then error(why, 0) end
  damaged(opened, "the durations of '%s' add up to more than 292 years", name)
end


-- Frames, what their rows are called, and the tables that they are of.
local tables_of = { { "gpu", "GPU operations", "kernels", "copies", "sets", "graphs" },
  { "api", "API calls", "api" }, { "ranges", "NVTX ranges", "ranges" } }

-- Events without a start or an end, which are left out: of each frame with some { name, count,
-- of (that are and are not left out), noun }.
local function timeless(opened)
  local left = opened:timeless()
  return lists.map(tables_of, function(of)
    local count = lists.sum(table.move(of, 3, #of, 1, {}), function(name) return left[name] end)
    return count > 0 and { name = of[1], noun = of[2], count = count,
      of = count + #check(opened:frame(of[1])) } or nil
  end)
end


-- What is to be said of events without a time: a list of sentences, and the largest share that
-- they are of their kind. What was not loaded is not counted.
function trace_file.without_time(opened)
  local said, worst = {}, 0
  for i, of in ipairs(timeless(opened)) do
    said[i] = ("%s of %s %s have no usable time and are left out"):format(text.count(of.count),
      text.count(of.of), of.noun)
    worst = math.max(worst, of.count / of.of)
  end
  return said, worst
end


-- Raises what is wrong with a trace. Where half of its events have no time, the rest says nothing.
function trace_file.check(opened)
  local kernels = check(opened:frame "kernels")
  for i, column in ipairs(SHAPE) do
    refuse(opened, kernels, "kernels", { { column, "==", false },
      { SHAPE[i % #SHAPE + 1], "~=", false } }, "have no usable " .. column)
  end
  for _, name in ipairs(TIMED) do check_times(opened, name) end
  for _, of in ipairs(timeless(opened)) do
    if 2 * of.count >= of.of then
      damaged(opened, "%s of %s rows of '%s' have no usable time",
        text.count(of.count), text.count(of.of), of.name)
    end
  end
end


-- ---- operations by kind ----

local plural = { kernel = "kernels", copy = "copies", set = "sets", graph = "graphs" }


-- A count of 0 for each kind, added to a table.
function trace_file.no_kinds(counts)
  for _, name in pairs(plural) do counts[name] = 0 end
  return counts
end


-- Set the counts of a group of a frame of operations, grouped by kind.
function trace_file.set_kind(counts, group)
  counts[plural[group.kind]] = group.count
  return counts
end


-- Counts of the operations of a frame, by kind, added to a table.
function trace_file.count_kinds(ops, counts)
  trace_file.no_kinds(counts)
  for _, group in ipairs(ops:group { by = { "kind" } }) do trace_file.set_kind(counts, group) end
  return counts
end


-- ---- the cache ----

-- Where what was read from large traces is kept, so that it need not be read again, and how
-- much of it: see trace.open of llmprof.trace.

-- Of smaller traces nothing is kept: they are read in no time.
trace_file.CACHE_LEAST = 20000000

-- What is kept at most unless something else is said: bytes, and a share of the free disk.
local MOST = 4000000000
local SHARE = 10

local limit -- bytes, as a run's settings have it; nil: nobody said
local is_off = false


-- From now on keep at most this many bytes, 0: nothing; nil leaves it as it is.
function trace_file.keep_in_cache(bytes) limit = bytes or limit end


-- From now on neither keep nor use anything, whatever else is said.
function trace_file.use_no_cache() is_off = true end


-- Free bytes where the folder is, or will be.
local function free_space(folder)
  while folder ~= "" do
    local free = fs.free_space(folder)
    if free then return free end
    folder = folder:match "^(.*)/[^/]*$"
  end
  return fs.free_space "/" or 0
end


-- Bytes that may be kept: as a run's settings have it, the environment, or the limits.
function trace_file.cache_most()
  if is_off then return 0 end
  local said = os.getenv "LLMPROF_CACHE" or ""
  local wanted = limit
  if not wanted and said ~= "" then
    wanted = said:find "^%d+$" and math.tointeger(tonumber(said))
      or errors.raise("usage", ("LLMPROF_CACHE: '%s' is no number of bytes"):format(said),
        { hint = "LLMPROF_CACHE=BYTES that may be kept; 0 keeps and uses nothing" })
  end
  wanted = wanted or limits.cache_bytes()
  if wanted then return wanted end
  local folder = folders.folder("cache", "traces")
  return folder and math.min(MOST, free_space(folder) // SHARE) or 0
end


-- What trace.open takes; nil: no cache.
function trace_file.cache_options()
  local folder, most = folders.folder("cache", "traces"), trace_file.cache_most()
  if not folder or most == 0 then return nil end
  return { folder = folder, least = trace_file.CACHE_LEAST, most = most }
end


-- The files that are kept: { path, bytes }, one of each trace.
function trace_file.cached() return folders.kept("traces", "^%x+%.%l+$") end


return trace_file
