-- How much what is read may cost (llmprof.bounds), from $LLMPROF_LIMITS and the keys
-- limits.*: rows of a table, bytes of memory, what comes out of a packed file to what goes
-- in, seconds of reading one file.
local bounds = require "llmprof.bounds"
local errors = require "llmprof.base.errors"
local sys = require "llmprof.sys"

local limits = {}

local FORM = "LLMPROF_LIMITS=rows=N,bytes=N,ratio=N,seconds=N; 0 is no limit"


local function known(key)
  for _, name in ipairs(bounds.keys()) do
    if name == key then return true end
  end
  return false
end


local function set_word(word)
  local name, value = word:match "^(%l+)=(%d+)$"
  local number = math.tointeger(tonumber(value))
  if not number or not known("limits." .. name) then
    errors.raise("usage", ("LLMPROF_LIMITS: '%s' is no limit"):format(word), { hint = FORM })
  end
  bounds.set("limits." .. name, number)
end


-- The limits of every command: half of the machine's memory, and what the environment
-- says.
function limits.start()
  bounds.set("limits.bytes", sys.cpu().memory // 2)
  for word in (os.getenv "LLMPROF_LIMITS" or ""):gmatch "[^,]+" do set_word(word) end
end


-- Those of a run, by key; what is nil stays.
function limits.apply(values)
  for _, key in ipairs(bounds.keys()) do
    local value = values[key:match "[^.]+$"]
    if value then bounds.set(key, value) end
  end
end


return limits
