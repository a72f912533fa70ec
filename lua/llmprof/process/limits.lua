-- How much what is read may cost (llmprof.bounds), from $LLMPROF_LIMITS and the keys
-- limits.*: rows of a table, bytes of memory, what comes out of a packed file to what goes
-- in, seconds of reading one file, threads that read and write at once.
local bounds = require "llmprof.bounds"
local errors = require "llmprof.process.errors"
local sys = require "llmprof.sys"

local limits = {}

-- Bytes of a cache that the user's settings allow, or nil: the command line says how they are
-- found out, since they are needed only when a trace is opened.
function limits.cache_bytes() return nil end

local FORM = "LLMPROF_LIMITS=rows=N,bytes=N,ratio=N,seconds=N,threads=N; 0 is no limit"


-- The limits of every command: half of the machine's memory, what the environment says,
-- and, as -j has it, how many threads; nil: not said.
function limits.start(threads)
  bounds.set("limits.bytes", sys.cpu().memory // 2)
  local known = {}
  for _, key in ipairs(bounds.keys()) do known[key] = true end
  for word in (os.getenv "LLMPROF_LIMITS" or ""):gmatch "[^,]+" do
    local name, value = word:match "^(%l+)=(%d+)$"
    local number = math.tointeger(tonumber(value))
    if not number or not known["limits." .. name] then
      errors.raise("usage", ("LLMPROF_LIMITS: '%s' is no limit"):format(word), { hint = FORM })
    end
    bounds.set("limits." .. name, number)
  end
  if not threads then return end
  local number = threads:find "^%d+$" and math.tointeger(tonumber(threads))
  if not number or number < 1 then
    errors.raise("usage", ("-j: '%s' is not a number of threads"):format(threads),
      { hint = "-j 1 is one thread; as many as there are processors unless it is said" })
  end
  bounds.set("limits.threads", number)
end


-- Those of a run, by key; what is nil stays.
function limits.apply(values)
  for _, key in ipairs(bounds.keys()) do
    local value = values[key:match "[^.]+$"]
    if value then bounds.set(key, value) end
  end
end


return limits
