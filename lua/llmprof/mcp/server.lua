-- The server: lines of JSON in, lines of JSON out, until the input ends. One request is
-- answered at a time; while a tool runs the input is looked at for its cancellation.
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local out = require "llmprof.io.output"
local protocol = require "llmprof.mcp.protocol"
local sys = require "llmprof.sys"
local tools = require "llmprof.mcp.tools"

local server = {}


-- ---- lines ----

-- Lines of standard input, which can be looked at without waiting for the rest of one.

-- Bytes of a line, lines that wait while a request is answered, and bytes of one read.
server.MOST = 1 << 20
local WAITING = 64
local PIECE = 1 << 16

local Input = {}
Input.__index = Input


-- Nothing was read yet: `lines` are whole ones in order, false stands for one that is too
-- long; `ended`: there is no more to come.
function server.open()
  return setmetatable({ lines = {}, parts = {}, size = 0, ended = false }, Input)
end


-- A line is whole: what came of it before, and its last part.
local function finish(self, last)
  local is_long = self.size + #last > server.MOST
  self.parts[#self.parts + 1] = last
  table.insert(self.lines, not is_long and table.concat(self.parts):gsub("\r$", "") or false)
  self.parts, self.size = {}, 0
end


-- Keep the beginning of a line, but for one that is too long already.
local function keep(self, part)
  self.size = self.size + #part
  if self.size > server.MOST then self.parts = {} else self.parts[#self.parts + 1] = part end
end


-- Take what is there, waiting for the first byte; a request to end is an end.
local function feed(self)
  local bytes, message, code = sys.read(0, PIECE)
  if not bytes and code ~= "interrupted" then errors.raise("failed", message) end
  if not bytes or bytes == "" then
    self.ended = true
    if self.size > 0 then finish(self, "") end
    return
  end
  local at, newline = 1, bytes:find("\n", 1, true)
  while newline do
    finish(self, bytes:sub(at, newline - 1))
    at, newline = newline + 1, bytes:find("\n", newline + 1, true)
  end
  if at <= #bytes then keep(self, bytes:sub(at)) end
end


-- Take what is there by now; waits for nothing. Who says more than may wait has to.
function Input:look()
  while not self.ended and #self.lines < WAITING and sys.readable(0) do feed(self) end
end


-- The next line, false for one that is too long; nil at the end.
function Input:next()
  while #self.lines == 0 and not self.ended do feed(self) end
  return table.remove(self.lines, 1)
end


-- ---- the server ----

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
    return tools.run(words, { seconds = seconds or given.seconds, is_cancelled = function()
      return look() or (incoming.ended and tool.capture) -- nobody waits for what takes long
    end })
  end)
  if ok then return tool_text(said, false) end
  if said.kind == "interrupted" then error(said, 0) end
  return tool_text(said.hint and said.message .. "\n" .. said.hint or said.message, true)
end


methods["resources/list"] = function(_, given)
  return { resources = tools.list_resources(tools.root_of(given.root)) }
end


methods["resources/templates/list"] = function()
  return { resourceTemplates = tools.resource_templates() }
end


methods["resources/read"] = function(params, given)
  local uri = params.uri
  local text = type(uri) == "string" and tools.read_resource(tools.root_of(given.root), uri)
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
    return protocol.error(json.null, "request", ("a message of over %d bytes"):format(server.MOST))
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
-- seconds (that an answer may take; nil: as its tools have it).
function server.run(given)
  incoming, agreed = server.open(), nil
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
