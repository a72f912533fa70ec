-- llmprof exec SCRIPT.lua [ARG...]: a Lua script with llmprof's modules.
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local lists = require "llmprof.tables.lists"

local command = {
  name = "exec",
  usage = "exec SCRIPT.lua [ARG...]",
  raw = true, -- every word after the script is the script's
  details = [[
Runs SCRIPT.lua, in which require "llmprof.trace" and the like work, with the
other words as `...` and in `arg`. What it returns, if a whole number, is the
exit status. The globals of `llmprof repl` (kernels, stages, sql, ...) are there
too: of the files that the other words name.]],
}


-- Globals that are not Lua's are looked for in a session, which is made when the first of them
-- is asked for: over the words that are files, folders or runs, over all of them when none is,
-- so that a wrong name is said.
local function offer_session(words)
  local globals
  setmetatable(_G, { __index = function(_, name)
    local session = require "llmprof.query.session"
    if not session.has(name) then return nil end
    if not globals then
      local source = require "llmprof.query.session.source"
      local there = lists.filtered(words, function(word) return source.locate(word) end)
      globals = session.open(#there > 0 and there or words)
    end
    return globals[name]
  end })
end


function command.run(argv)
  local script = argv[1]
  if not script then
    errors.raise("usage", "which script?", { hint = "llmprof exec SCRIPT.lua" })
  elseif script:find "^%-." then
    errors.raise("usage", ("exec: no option '%s'"):format(script),
      { hint = "options of the script come after its name" })
  end
  local source = errors.check_as("usage", fs.read(script, files.MOST))
  local chunk, message = load(source:gsub("^#[^\n]*", "", 1), "@" .. script)
  if not chunk then errors.raise("usage", message) end
  package.path = package.path .. ";./?.lua;./?/init.lua" -- as `lua` has it for a script
  arg = { [0] = script, table.unpack(argv, 2) } -- luacheck: ignore 121
  offer_session(table.move(argv, 2, #argv, 1, {}))
  local ok, result = errors.call_with(function(err)
    return errors.is(err) and err or { message = tostring(err), trace = errors.traceback() }
  end, chunk, table.unpack(argv, 2))
  if ok then return math.type(result) == "integer" and result or 0 end
  if errors.is(result) then error(result, 0) end
  errors.raise("usage", result.message, { detail = result.trace })
end


return command
