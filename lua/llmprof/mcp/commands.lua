-- llmprof as a child: how the tools of the server get their answers.
local artifacts = require "llmprof.bundle.artifacts"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"
local text = require "llmprof.text"

local user = require "llmprof.recipe.user"

local commands = {}

-- What a question may cost: seconds, bytes of memory, bytes of answer that are read.
local SECONDS, MEMORY, MOST = 60, 4 << 30, 32 << 20

-- Between two looks at what the client says meanwhile, in seconds.
local PERIOD = 0.1


-- A signal that we got went to the child: it is ours as well.
local function raise_signal(result)
  if result and result.interrupted then errors.raise("interrupted", "interrupted") end
end


local function wait(child, is_cancelled)
  while child:pump(PERIOD) do
    if is_cancelled(child) then
      raise_signal(child:stop())
      child:close()
      errors.raise("closed", "cancelled")
    end
  end
  local result = errors.check(child:wait())
  raise_signal(result)
  return result
end


-- The lines of standard output and error, as two lists; reading ends where it is too much.
local function gatherer()
  local said, bytes = { stdout = {}, stderr = {} }, 0
  return said, function(line, stream)
    bytes = bytes + #line + 1
    said.too_long = bytes > MOST
    if said.too_long then return false end
    table.insert(said[stream], line)
    return true
  end
end


-- Why a child gave no answer, where it does not say so itself.
local function why_not(said, result)
  if said.too_long then
    return ("the answer is longer than %s; ask for less"):format(text.bytes(MOST))
  elseif result.timed_out then
    return "no answer within its time; ask for less"
  end
  local why = table.concat(said.stderr, "\n")
  if why ~= "" then return why end
  if result.signal then
    return ("the answer was ended by %s, as the system does when memory is short; ask for less")
      :format(result.signal)
  end
  return ("llmprof ended without a word (status %s)"):format(result.code)
end


-- Standard output of llmprof with these words. What it complains about raises, in its
-- words. options: seconds and memory (nil: SECONDS, MEMORY), is_cancelled(child) (asked
-- while it runs; when true, an error of kind "closed").
function commands.run(words, options)
  local said, on_line = gatherer()
  local seconds, memory = options.seconds or SECONDS, options.memory or MEMORY
  local child = errors.check(spawn.start(
    { errors.check(sys.executable()), table.unpack(words) },
    { on_line = on_line, timeout = seconds, helper = true,
      env = { NO_COLOR = "1", LLMPROF_LIMITS = ("bytes=%d,seconds=%d"):format(memory, seconds) } }))
  local result = wait(child, options.is_cancelled or function() return false end)
  if result.ok and not said.too_long then return table.concat(said.stdout, "\n") .. "\n" end
  errors.raise("failed", text.clean_lines(why_not(said, result)))
end


-- Is a path there, or the name of a run? Words that begin like options are neither.
function commands.check_word(word, what)
  if type(word) ~= "string" or word == "" or word:find "^[-~+]" or word:find "[%z\n]" then
    errors.raise("usage", ("%s: the id of a run, a folder or a file is expected"):format(what))
  end
  return word
end


-- Where runs are kept.
function commands.root_of(root)
  return root or user.root()
end


-- The folder of a run, or a word as it is where it is a path.
function commands.folder(word, root)
  if fs.stat(word) then return word end
  return artifacts.open(word, commands.root_of(root)).dir
end


return commands
