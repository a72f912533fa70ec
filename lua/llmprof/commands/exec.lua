-- llmprof exec SCRIPT.lua [ARG...]: a Lua script with llmprof's modules.
local errors = require "llmprof.errors"

local command = {
  name = "exec",
  summary = "run a Lua script with llmprof's modules",
  usage = "exec SCRIPT.lua [ARG...]",
  raw = true, -- every word after the script is the script's
  completes = "script",
}


local usage = [[
usage: llmprof exec SCRIPT.lua [ARG...]

Runs SCRIPT.lua, in which require "llmprof.trace" and the like work, with the
other words as `...` and in `arg`. What it returns, if a whole number, is the
exit status.
]]


function command.help()
  return usage
end


function command.run(argv)
  local script = argv[1]
  if script == "--help" or script == "-h" then
    io.stdout:write(usage)
    return 0
  end
  if not script then
    errors.raise("usage", "which script?", { hint = "llmprof exec SCRIPT.lua" })
  elseif script:find "^%-." then
    errors.raise("usage", ("exec: no option '%s'"):format(script),
      { hint = "options of the script come after its name" })
  end
  local chunk, message = loadfile(script)
  if not chunk then errors.raise("usage", message) end
  arg = { [0] = script, table.unpack(argv, 2) } -- luacheck: ignore 121
  local trace
  local ok, result = xpcall(chunk, function(err)
    trace = errors.traceback()
    return err
  end, table.unpack(argv, 2))
  if ok then return math.type(result) == "integer" and result or 0 end
  if errors.is(result) then error(result, 0) end
  if errors.is_interrupt(tostring(result)) then errors.raise("interrupted", "interrupted") end
  errors.raise("usage", tostring(result), { detail = trace })
end


return command
