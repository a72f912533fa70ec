-- The server: lines of JSON in, lines of JSON out, until the input ends. One request is
-- answered at a time; while a tool runs the input is looked at for its cancellation.
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local out = require "llmprof.io.output"
local sys = require "llmprof.sys"
local text = require "llmprof.text"
local tools = require "llmprof.mcp.tools"
local version = require "llmprof.version"

local server = {}


-- ---- messages ----

-- The messages of the Model Context Protocol: JSON-RPC 2.0, and how its revisions differ.
--
-- Up to 2025-11-25 a client says `initialize` first; of these, 2025-03-26 alone has batches,
-- lists of messages that are answered with a list. Since 2026-07-28 there is no such
-- beginning: every request says in `_meta` which revision it speaks and what the client
-- can, `server/discover` tells what the server can, and results say that they are complete.
local protocol = {}

protocol.HANDSHAKE = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" }
protocol.MODERN = { "2026-07-28" }

local CODES = { parse = -32700, request = -32600, method = -32601, params = -32602,
  internal = -32603, version = -32022 }

local PREFIX = "io.modelcontextprotocol/"
local VERSION, CAPABILITIES = PREFIX .. "protocolVersion", PREFIX .. "clientCapabilities"

-- Results that a client may keep: how long, in ms, and for whom.
local CACHEABLE = { ["server/discover"] = 3600000, ["tools/list"] = 3600000,
  ["resources/list"] = 0, ["resources/templates/list"] = 3600000, ["resources/read"] = 0 }


local BATCHES = "2025-03-26"

local LIST = getmetatable(json.list {})

local function is_array(value) return type(value) == "table" and getmetatable(value) == LIST end

local function is_object(value) return type(value) == "table" and getmetatable(value) ~= LIST end


-- ---- requests ----

-- A message: { id, method, params }; nil, and the error to answer with. id is nil of a
-- notification, and of what is not answered.
local function check(message)
  if not is_object(message) then
    return nil, protocol.error(json.null, "request", "an object is expected")
  end
  local id = message.id
  local sound = id == nil or type(id) == "string" or math.type(id) == "integer"
  if not sound or message.jsonrpc ~= "2.0" then
    return nil, protocol.error(json.null, "request", "no request of JSON-RPC 2.0")
  elseif type(message.method) ~= "string" then
    if message.result ~= nil or message.error ~= nil then return {} end -- an answer to nothing
    return nil, protocol.error(id or json.null, "request", "no method")
  end
  local params = message.params
  if params == nil or params == json.null then params = {} end
  if not is_object(params) then
    if id == nil then return {} end -- nobody waits for an answer
    return nil, protocol.error(id, "params", "params: an object is expected")
  end
  return { id = id, method = message.method, params = params }
end


-- The messages of a line: a list of { request (nil: none that is sound), wrong (then, the
-- error to answer with) }, and whether they are a batch; nil, and the error to answer with.
-- agreed: the revision that the client began with, nil before.
function protocol.decode(line, agreed)
  local message, wrong = json.decode(line)
  if message == nil then return nil, protocol.error(json.null, "parse", wrong) end
  local is_batch = is_array(message)
  if is_batch and agreed ~= BATCHES then
    return nil, protocol.error(json.null, "request",
      "an object is expected; batches are of revision " .. BATCHES)
  elseif is_batch and #message == 0 then
    return nil, protocol.error(json.null, "request", "an empty batch")
  end
  local list = {}
  for i, one in ipairs(is_batch and message or { message }) do
    local request, fault = check(one)
    list[i] = { request = request, wrong = fault }
  end
  return list, is_batch
end


-- What a client said where a text is expected, for a message.
function protocol.said(value)
  if type(value) == "string" then return value end
  return value == nil and "null" or errors.check(json.encode(value))
end


-- Is a request of a revision without a beginning; an error to answer with where its
-- revision is not known or what it has to say is missing.
function protocol.era(request)
  local meta = request.params._meta
  local wanted = is_object(meta) and meta[VERSION]
  if not wanted then return false end
  if not lists.has(protocol.MODERN, wanted) then
    return nil, protocol.error(request.id, "version", "the revision is not supported",
      { supported = json.list { table.unpack(protocol.MODERN) },
        requested = protocol.said(wanted) })
  elseif not is_object(meta[CAPABILITIES]) then
    return nil, protocol.error(request.id, "params", "_meta: no " .. CAPABILITIES)
  end
  return true
end


-- ---- answers ----

function protocol.identity() return { name = "llmprof", version = version.version } end


-- An error, by its name among CODES.
function protocol.error(id, name, message, data)
  return { jsonrpc = "2.0", id = id == nil and json.null or id,
    error = { code = CODES[name], message = text.clean_lines(message), data = data } }
end


-- A result as an answer. modern: of protocol.era.
function protocol.result(request, result, modern)
  if modern then
    result.resultType = "complete"
    result._meta = { [PREFIX .. "serverInfo"] = protocol.identity() }
    local kept = CACHEABLE[request.method]
    if kept then result.ttlMs, result.cacheScope = kept, "private" end
  end
  return { jsonrpc = "2.0", id = request.id, result = result }
end


-- ---- lines ----

-- Bytes of a line, lines that wait while a request is answered, and bytes of one read.
server.MOST = 1 << 20
local WAITING = 64
local PIECE = 1 << 16

local Input = {}
Input.__index = Input


-- Nothing was read yet: `lines` are whole ones in order, false stands for one that is too
-- long; `rest`: of one that is not whole; `ended`: there is no more to come.
function server.open() return setmetatable({ lines = {}, rest = "", ended = false }, Input) end


-- Take what is there, waiting for the first byte; a request to end is an end.
local function feed(self)
  local bytes, message, code = sys.read(0, PIECE)
  if not bytes and code ~= "interrupted" then errors.raise("failed", message) end
  if not bytes or bytes == "" then
    self.ended = true
    bytes = self.rest ~= "" and "\n" or ""
  end
  local said, at = self.rest .. bytes, 1
  for newline in said:gmatch "()\n" do
    local line = said:sub(at, newline - 1)
    table.insert(self.lines, #line <= server.MOST and line:gsub("\r$", "") or false)
    at = newline + 1
  end
  self.rest = said:sub(at, at + server.MOST) -- of one that is too long enough to know that
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


local INSTRUCTIONS = "llmprof profiles LLM inference. Ask `runs`, then `digest` of a run; `table` "
  .. "and `query` for more, `compare` for what changed. Times are ns; null was not measured."

local OURS = { tools = {}, resources = {} }


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
  for i = #incoming.lines, looked + 1, -1 do cancelled = cancels(incoming.lines[i]) or cancelled end
  looked = #incoming.lines
  return cancelled
end


-- ---- requests ----

local methods = {}


methods["server/discover"] = function()
  return { supportedVersions = json.list(lists.joined(protocol.MODERN, protocol.HANDSHAKE)),
    capabilities = OURS, instructions = INSTRUCTIONS }
end


methods["tools/list"] = function(_, given) return { tools = tools.list(given) } end


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
  return { resources = tools.list_resources(given.root) }
end


methods["resources/templates/list"] = function()
  return { resourceTemplates = tools.resource_templates() }
end


methods["resources/read"] = function(params, given)
  local uri = params.uri
  local read = type(uri) == "string" and tools.read_resource(given.root, uri)
  if not read then return nil, "params", ("no resource '%s'"):format(protocol.said(uri)) end
  return { contents = json.list { { uri = uri, mimeType = "text/markdown", text = read } } }
end


-- Of revisions that begin with a handshake.
local handshake = {
  initialize = function(params)
    local wanted = params.protocolVersion
    agreed = lists.has(protocol.HANDSHAKE, wanted) and wanted or protocol.HANDSHAKE[1]
    return { protocolVersion = agreed,
      capabilities = OURS, serverInfo = protocol.identity(), instructions = INSTRUCTIONS }
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
  if not ok then return protocol.error(request.id, "internal", result.message) end
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
      out.write(errors.check(json.encode(said)), "\n")
      out.flush()
    end
  end
end


return server
