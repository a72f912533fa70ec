-- Seeing a child process through while something else is shown or sampled.
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


-- Processes of a list of spawn's in words: "sleep (17), sh (18)".
local function names_of(list)
  local words = {}
  for i, stray in ipairs(list) do
    words[i] = ("%s (%d)"):format(text.clean(stray.name), stray.pid)
  end
  return table.concat(words, ", ")
end


-- Sentences about processes (spawn's strays) that somebody left running; none without any.
function process.left(strays, who)
  local ended, living, lines = {}, {}, {}
  for _, stray in ipairs(strays) do table.insert(stray.lives and living or ended, stray) end
  if #ended > 0 then
    lines[1] = ("%s left processes running, which were ended: %s"):format(who, names_of(ended))
  end
  if #living > 0 then
    lines[#lines + 1] = ("%s left processes running that could not be ended: %s"):format(who,
      names_of(living))
  end
  return lines
end


return process
