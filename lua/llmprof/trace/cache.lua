-- Where what was read from large traces is kept, so that it need not be read again, and how
-- much of it: see trace.open of llmprof.trace.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local limits = require "llmprof.process.limits"
local folders = require "llmprof.io.files"

local cache = {}

-- Of smaller traces nothing is kept: they are read in no time.
cache.LEAST = 20000000

-- What is kept at most unless something else is said: bytes, and a share of the free disk.
local MOST = 4000000000
local SHARE = 10

local FORM = "LLMPROF_CACHE=BYTES that may be kept; 0 keeps and uses nothing"

local limit -- bytes, as a run's settings have it; nil: nobody said
local is_off = false


-- llmprof's folder for it; nil without a home.
function cache.folder()
  local folder = folders.folder "cache"
  return folder and folder .. "/traces"
end


-- From now on keep at most this many bytes, 0: nothing; nil leaves it as it is.
function cache.keep(bytes) limit = bytes or limit end


-- From now on neither keep nor use anything, whatever else is said.
function cache.turn_off() is_off = true end


local function from_environment()
  local text = os.getenv "LLMPROF_CACHE"
  if not text or text == "" then return nil end
  local bytes = text:find "^%d+$" and math.tointeger(tonumber(text))
  if not bytes then
    errors.raise("usage", ("LLMPROF_CACHE: '%s' is no number of bytes"):format(text),
      { hint = FORM })
  end
  return bytes
end


-- Free bytes where the folder is, or will be.
local function free_space(folder)
  while folder ~= "" do
    local free = fs.free_space(folder)
    if free then return free end
    folder = folder:match "^(.*)/[^/]*$"
  end
  return fs.free_space "/" or 0
end


-- Bytes that may be kept.
function cache.most()
  if is_off then return 0 end
  local wanted = limit or from_environment() or limits.cache_bytes()
  if wanted then return wanted end
  return cache.folder() and math.min(MOST, free_space(cache.folder()) // SHARE) or 0
end


-- What trace.open takes; nil: no cache.
function cache.options()
  local folder, most = cache.folder(), cache.most()
  if not folder or most == 0 then return nil end
  return { folder = folder, least = cache.LEAST, most = most }
end


-- The files that are kept: { path, bytes }, one of each trace.
function cache.files()
  local folder = cache.folder()
  local list = {}
  for _, name in ipairs(folder and fs.list(folder) or {}) do
    local path = folder .. "/" .. name
    local info = name:find "^%x+%.%l+$" and fs.lstat(path)
    if info and info.type == "file" then list[#list + 1] = { path = path, bytes = info.size } end
  end
  return list
end


return cache
