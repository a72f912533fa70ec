-- Children: seeing one through while something else is shown or sampled, and command lines as
-- people paste them.
local fs = require "llmprof.fs"
local spawn = require "llmprof.spawn"
local text = require "llmprof.text"

local process = {}

-- Between two calls of on_idle, in seconds.
local PERIOD = 0.2


-- spawn.run, whose options these are; on_idle(child) is called a few times a second.
function process.run(argv, options, on_idle)
  if not on_idle then return spawn.run(argv, options) end
  local child, message, code = spawn.start(argv, options)
  if not child then return nil, message, code end
  while child:pump(PERIOD) do on_idle(child) end
  return child:wait()
end


-- Sentences about processes (spawn's orphans) that somebody left running; none without any.
function process.left(orphans, who)
  local ended, living, lines = {}, {}, {}
  for _, orphan in ipairs(orphans) do
    table.insert(orphan.lives and living or ended,
      ("%s (%d)"):format(text.clean(orphan.name), orphan.pid))
  end
  local function say(list, what)
    if #list == 0 then return end
    lines[#lines + 1] = ("%s left processes running%s: %s"):format(who, what,
      table.concat(list, ", "))
  end
  say(ended, ", which were ended")
  say(living, " that could not be ended")
  return lines
end


-- ---- the processes below one ----

-- { pid, parent, ticks (of processor time), started (ticks since boot) } of a process;
-- nil when it has ended.
local function read(pid)
  local stat = fs.read(("/proc/%d/stat"):format(pid))
  local fields = {}
  for field in (stat and stat:match "^.*%)%s+(.*)$" or ""):gmatch "%S+" do
    fields[#fields + 1] = field
  end
  if #fields < 20 or fields[1] == "Z" or fields[1] == "X" then return nil end
  return { pid = pid, parent = tonumber(fields[2]),
    ticks = tonumber(fields[12]) + tonumber(fields[13]), started = fields[20] }
end


-- A process and all below it that live, each as read gives it. An orphan belongs to
-- nobody any more.
function process.of(root)
  local children, list = {}, { read(root) }
  for _, name in ipairs(fs.list "/proc" or {}) do
    local found = name:find "^%d+$" and read(tonumber(name))
    if found then
      children[found.parent] = children[found.parent] or {}
      table.insert(children[found.parent], found)
    end
  end
  local at = 1
  while list[at] do
    table.move(children[list[at].pid] or {}, 1, #(children[list[at].pid] or {}), #list + 1, list)
    at = at + 1
  end
  return list
end


-- Is it still the same process?
function process.lives(one)
  local now = read(one.pid)
  return now ~= nil and now.started == one.started
end


-- ---- command lines as people paste them ----

-- For a shell, which llmprof itself never uses.

-- A word as a shell takes it for one, whatever is in it.
function process.quoted(word)
  if word:find "^[%w_@%%+=:,./-]+$" then return word end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end


-- argv as one line, each word quoted where a shell asks for it.
function process.shown(argv)
  local words = {}
  for i, word in ipairs(argv) do words[i] = process.quoted(word) end
  return table.concat(words, " ")
end


-- ---- for others ----

-- Values that can tell nothing but what they say.
local plain_words = {}
for _, word in ipairs { "", "true", "false", "on", "off", "yes", "no", "none", "auto", "all",
  "null", "cpu", "cuda", "fp32", "fp16", "bf16", "fp8", "float32", "float16", "bfloat16" } do
  plain_words[word] = true
end

-- What stands for a value that strangers do not see.
process.HIDDEN = "<...>"


local function is_plain(value)
  return plain_words[value] or value:find "^[+-]?%d[%d.]*$" and #value <= 20
    or value:find "^%d[%d,:x-]*$" and #value <= 20 or value:find "^cuda:%d+$"
    or value:find "^<run>[%w_./-]*$"
end


-- A command as strangers may see it: names of options stay, and of values those that can
-- be no secret by their form, or that belong to one of `open` (option -> true).
function process.public_words(argv, open)
  local words, first = {}, true
  for i, word in ipairs(argv) do
    local name, value = word:match "^(%-*%a[%w_.-]*)=(.*)$" -- "--name=VALUE" or "key=VALUE"
    local before = name and name .. "=" or ""
    if not name and word:find "^%-%-?%a[%w_-]*$" then
      name = word
    elseif not name then
      name, value = "", word
    end
    -- a program or a script: only options stand before it
    local is_program = word:find "^[%w_./-]+$"
      and (first or word:find "%.py$" or word:find "%.lua$")
    local seen = value == nil or is_program or open[name] or is_plain(value)
    words[i] = seen and word or before .. process.HIDDEN
    first = first and name ~= ""
  end
  return words
end


return process
