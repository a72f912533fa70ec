-- The server: lines of JSON in, lines of JSON out, until the input ends. One request is
-- answered at a time; while a tool runs the input is looked at for its cancellation.
local commands = require "llmprof.mcp.commands"
local errors = require "llmprof.process.errors"
local input = require "llmprof.mcp.input"
local json = require "llmprof.json"
local out = require "llmprof.io.output"
local protocol = require "llmprof.mcp.protocol"
local resources = require "llmprof.mcp.resources"
local tools = require "llmprof.mcp.tools"

local server = {}

local INSTRUCTIONS = "llmprof profiles LLM inference. Ask `runs`, then `digest` of a run; `table` "
  .. "and `query` for more, `compare` for what changed. Times are ns; null was not measured."

local CAPABILITIES = { tools = {}, resources = {} }


-- ---- input ----

-- What comes in, the revision that the client began with, the id of the request that is
-- being answered, whether it is cancelled, and how many of the lines that wait were asked for
-- that.
local incoming, agreed, current, cancelled, looked


-- Does this line cancel that request? A notification says no more when it is read again.
local function cancels(line)
  for _, one in ipairs(line and line:find "%S" and protocol.decode(line, agreed) or {}) do
    local request = one.request
    if request and request.method == "notifications/cancelled"
      and request.params.requestId == current then return true end
  end
  return false
end


-- Look at what the client says while a tool runs: is it cancelled? The rest has to wait,
-- that of a line which is not whole, too.
local function look()
  incoming:look()
  for i = #incoming.lines, looked + 1, -1 do
    cancelled = cancels(incoming.lines[i]) or cancelled
  end
  looked = #incoming.lines
  return cancelled
end


-- ---- requests ----

local methods = {}


methods["server/discover"] = function()
  local versions = { table.unpack(protocol.MODERN) }
  table.move(protocol.HANDSHAKE, 1, #protocol.HANDSHAKE, #versions + 1, versions)
  return { supportedVersions = json.list(versions), capabilities = CAPABILITIES,
    instructions = INSTRUCTIONS }
end


methods["tools/list"] = function(_, given)
  return { tools = tools.list(given) }
end


local function tool_text(said, failed)
  return { content = json.list { { type = "text", text = said } }, isError = failed }
end


-- What a tool raises is an answer, too: the agent can ask better.
methods["tools/call"] = function(params, given)
  local tool = tools.find(params.name, given)
  if not tool then return nil, "params", ("no tool '%s'"):format(protocol.said(params.name)) end
  local arguments = params.arguments
  if arguments == nil or arguments == json.null then arguments = {} end
  local ok, said = errors.call(tools.call, tool, arguments, given, function(words, seconds)
    return commands.run(words, { seconds = seconds or given.seconds, is_cancelled = function()
      return look() or (incoming.ended and tool.capture) -- nobody waits for what takes long
    end })
  end)
  if ok then return tool_text(said, false) end
  if said.kind == "interrupted" then error(said, 0) end
  return tool_text(said.hint and said.message .. "\n" .. said.hint or said.message, true)
end


methods["resources/list"] = function(_, given)
  return { resources = resources.list(commands.root_of(given.root)) }
end


methods["resources/templates/list"] = function()
  return { resourceTemplates = resources.templates() }
end


methods["resources/read"] = function(params, given)
  local uri = params.uri
  local text = type(uri) == "string" and resources.read(commands.root_of(given.root), uri)
  if not text then return nil, "params", ("no resource '%s'"):format(protocol.said(uri)) end
  return { contents = json.list { { uri = uri, mimeType = "text/markdown", text = text } } }
end


-- Of revisions that begin with a handshake.
local handshake = {
  initialize = function(params)
    agreed = protocol.agreed(params.protocolVersion)
    return { protocolVersion = agreed,
      capabilities = CAPABILITIES, serverInfo = protocol.identity(), instructions = INSTRUCTIONS }
  end,
  ping = function() return {} end,
}


-- The answer to a request; nil for one that was cancelled.
local function answer(request, given)
  local modern, wrong = protocol.era(request)
  if wrong then return wrong end
  local method = methods[request.method] or (not modern and handshake[request.method])
  if not method then
    return protocol.error(request.id, "method", ("no method '%s'"):format(request.method))
  end
  current, cancelled, looked = request.id, false, 0
  local ok, result, name, message = errors.call(method, request.params, given)
  current = nil
  if not ok and errors.is_interrupt(result) then error(result, 0) end
  if cancelled then return nil end
  if not ok then
    return protocol.error(request.id, "internal", result.message)
  end
  if not result then return protocol.error(request.id, name, message) end
  return protocol.result(request, result, modern)
end


local function handle(line, given)
  if not line then
    return protocol.error(json.null, "request", ("a message of over %d bytes"):format(input.MOST))
  end
  local messages, batch_or_wrong = protocol.decode(line, agreed)
  if not messages then return batch_or_wrong end
  local said = json.list {}
  for _, one in ipairs(messages) do
    local request = one.request
    if not request then
      said[#said + 1] = one.wrong
    elseif request.id ~= nil then -- of a notification: nothing to do, nothing to say
      said[#said + 1] = answer(request, given)
    end
  end
  return batch_or_wrong and #said > 0 and said or said[1]
end


-- Serve until the input ends. given: root (of runs; nil: the user's own), allow_capture,
-- seconds (that an answer may take; nil: those of llmprof.mcp.commands).
function server.run(given)
  incoming, agreed = input.open(), nil
  while true do
    local line = incoming:next()
    if line == nil then return end
    local said = (not line or line:find "%S") and handle(line, given)
    if said then
      out.write(protocol.encode(said))
      out.flush()
    end
  end
end


return server
