-- The messages of the Model Context Protocol: JSON-RPC 2.0, and how its revisions differ.
--
-- Up to 2025-11-25 a client says `initialize` first; of these, 2025-03-26 alone has batches,
-- lists of messages that are answered with a list. Since 2026-07-28 there is no such
-- beginning: every request says in `_meta` which revision it speaks and what the client
-- can, `server/discover` tells what the server can, and results say that they are complete.
local json = require "llmprof.json"
local text = require "llmprof.text"
local version = require "llmprof.version"

local protocol = {}

protocol.HANDSHAKE = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" }
protocol.MODERN = { "2026-07-28" }

protocol.code = { parse = -32700, request = -32600, method = -32601, params = -32602,
  internal = -32603, version = -32022 }

local PREFIX = "io.modelcontextprotocol/"
local VERSION, CAPABILITIES = PREFIX .. "protocolVersion", PREFIX .. "clientCapabilities"

-- Results that a client may keep: how long, in ms, and for whom.
local CACHEABLE = { ["server/discover"] = 3600000, ["tools/list"] = 3600000,
  ["resources/list"] = 0, ["resources/templates/list"] = 3600000, ["resources/read"] = 0 }


local BATCHES = "2025-03-26"

local LIST = getmetatable(json.list {})

local function is_array(value)
  return type(value) == "table" and getmetatable(value) == LIST
end

local function is_object(value)
  return type(value) == "table" and getmetatable(value) ~= LIST
end


local function has(list, value)
  for _, item in ipairs(list) do
    if item == value then return true end
  end
  return false
end


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
  return value == nil and "null" or assert(json.encode(value))
end


-- Is a request of a revision without a beginning; an error to answer with where its
-- revision is not known or what it has to say is missing.
function protocol.era(request)
  local meta = request.params._meta
  local wanted = is_object(meta) and meta[VERSION]
  if not wanted then return false end
  if not has(protocol.MODERN, wanted) then
    return nil, protocol.error(request.id, "version", "the revision is not supported",
      { supported = json.list { table.unpack(protocol.MODERN) },
        requested = protocol.said(wanted) })
  elseif not is_object(meta[CAPABILITIES]) then
    return nil, protocol.error(request.id, "params", "_meta: no " .. CAPABILITIES)
  end
  return true
end


-- The revision for a client that begins with `initialize` and asks for one.
function protocol.agreed(wanted)
  return has(protocol.HANDSHAKE, wanted) and wanted or protocol.HANDSHAKE[1]
end


-- ---- answers ----

function protocol.identity()
  return { name = "llmprof", version = version.version }
end


-- An error, by its name in protocol.code.
function protocol.error(id, name, message, data)
  return { jsonrpc = "2.0", id = id == nil and json.null or id,
    error = { code = protocol.code[name], message = text.clean_lines(message),
      data = data } }
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


function protocol.encode(message)
  return assert(json.encode(message)) .. "\n"
end


return protocol
