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
local HANDSHAKE = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" }
local MODERN = { "2026-07-28" }

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

local function is_id(value) return type(value) == "string" or math.type(value) == "integer" end


-- Raise what is wrong with a message, by its name among CODES.
local function refuse(name, message, data)
  errors.raise("refused", message, { code = CODES[name], data = data })
end


-- The answer that says what was raised.
local function refusal(id, err)
  return { jsonrpc = "2.0", id = id or json.null, error = {
    code = err.kind == "refused" and err.code or CODES.internal,
    message = text.clean_lines(err.message), data = err.data } }
end


-- What a client said where a text is expected, for a message.
local function said_of(value)
  if type(value) == "string" then return value end
  return value == nil and "null" or errors.check(json.encode(value))
end


-- The messages of a line, and whether they are a batch. agreed: the revision that the client
-- began with, nil before.
local function messages_of(line, agreed)
  local message, wrong = json.decode(line)
  if message == nil then refuse("parse", wrong) end
  local is_batch = is_array(message)
  if is_batch and agreed ~= BATCHES then
    refuse("request", "an object is expected; batches are of revision " .. BATCHES)
  elseif is_batch and #message == 0 then
    refuse("request", "an empty batch")
  end
  return is_batch and message or { message }, is_batch
end


-- The parameters of a message; nil of one that is not answered.
local function parameters(message)
  if not is_object(message) then refuse("request", "an object is expected") end
  local is_sound = message.id == nil or is_id(message.id)
  if not is_sound or message.jsonrpc ~= "2.0" then
    refuse("request", "no request of JSON-RPC 2.0")
  elseif type(message.method) ~= "string" then
    if message.result ~= nil or message.error ~= nil then return nil end -- an answer to nothing
    refuse("request", "no method")
  end
  if message.id == nil then return nil end -- of a notification: nothing to do, nothing to say
  local params = message.params
  if params == nil or params == json.null then params = {} end
  if not is_object(params) then refuse("params", "params: an object is expected") end
  return params
end


-- Is a request of a revision without a beginning?
local function is_modern(params)
  local meta = params._meta
  local wanted = is_object(meta) and meta[VERSION]
  if not wanted then return false end
  if not lists.has(MODERN, wanted) then
    refuse("version", "the revision is not supported",
      { supported = json.list { table.unpack(MODERN) }, requested = said_of(wanted) })
  elseif not is_object(meta[CAPABILITIES]) then
    refuse("params", "_meta: no " .. CAPABILITIES)
  end
  return true
end


local function identity() return { name = "llmprof", version = version.version } end


-- ---- lines ----

-- Bytes of a line, lines that wait while a request is answered, and bytes of one read.
server.MOST = 1 << 20
local TOO_LONG = refusal(nil, { kind = "refused", code = CODES.request,
  message = ("a message of over %d bytes"):format(server.MOST) })
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
  local ok, messages = errors.call(messages_of, line or "", agreed)
  return ok and lists.any(messages, function(message)
    return is_object(message) and message.method == "notifications/cancelled"
      and is_object(message.params) and message.params.requestId == current
  end)
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
  return { supportedVersions = json.list(lists.joined(MODERN, HANDSHAKE)),
    capabilities = OURS, instructions = INSTRUCTIONS }
end


methods["tools/list"] = function(_, given) return { tools = tools.list(given) } end


local function tool_text(said, failed)
  return { content = json.list { { type = "text", text = said } }, isError = failed }
end


-- What a tool raises is an answer, too: the agent can ask better.
methods["tools/call"] = function(params, given)
  local tool = tools.find(params.name, given)
  if not tool then refuse("params", ("no tool '%s'"):format(said_of(params.name))) end
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
  if not read then refuse("params", ("no resource '%s'"):format(said_of(uri))) end
  return { contents = json.list { { uri = uri, mimeType = "text/markdown", text = read } } }
end


-- Of revisions that begin with a handshake.
local handshake = {
  initialize = function(params)
    local wanted = params.protocolVersion
    agreed = lists.has(HANDSHAKE, wanted) and wanted or HANDSHAKE[1]
    return { protocolVersion = agreed,
      capabilities = OURS, serverInfo = identity(), instructions = INSTRUCTIONS }
  end,
  ping = function() return {} end,
}


-- The answer to a message; nil where there is none.
local function answer(message, given)
  local params = parameters(message)
  if not params then return nil end
  local modern = is_modern(params)
  local method = methods[message.method] or (not modern and handshake[message.method])
  if not method then refuse("method", ("no method '%s'"):format(message.method)) end
  current = message.id
  local result = method(params, given)
  if modern then
    result.resultType = "complete"
    result._meta = { [PREFIX .. "serverInfo"] = identity() }
    local kept = CACHEABLE[message.method]
    if kept then result.ttlMs, result.cacheScope = kept, "private" end
  end
  return { jsonrpc = "2.0", id = message.id, result = result }
end


-- The same of one that is wrong; nil, too, where it was cancelled.
local function reply(message, given)
  current, cancelled, looked = nil, false, 0
  local ok, said = errors.call(answer, message, given)
  if not ok and errors.is_interrupt(said) then error(said, 0) end
  if cancelled then return nil end
  if ok then return said end
  return refusal(is_object(message) and is_id(message.id) and message.id, said)
end


-- Serve until the input ends. given: root (of runs; nil: the user's own), allow_capture,
-- seconds (that an answer may take; nil: as its tools have it).
function server.run(given)
  incoming, agreed = server.open(), nil
  while true do
    local line = incoming:next()
    if line == nil then return end
    local said
    if not line then
      said = TOO_LONG
    elseif line:find "%S" then
      local ok, messages, is_batch = errors.call(messages_of, line, agreed)
      local answers = json.list(lists.map(ok and messages or {}, function(message)
        return reply(message, given)
      end))
      said = not ok and refusal(nil, messages) or is_batch and #answers > 0 and answers
        or answers[1]
    end
    if said then
      out.write(errors.check(json.encode(said)), "\n")
      out.flush()
    end
  end
end


return server
