-- A client of `mcp` that means it ill: lines from the bytes, or requests that the bytes
-- change. Every line is answered or needs no answer, and the answers are lines of JSON.
local tools = require "llmprof.mcp.tools"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local given = dofile "tests/fuzz/lua/given.lua"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local out = require "llmprof.io.output"
local server = require "llmprof.mcp.server"
local sys = require "llmprof.sys"

local FIXTURE = "tests/fixtures/compare/graph"
local ROOT = given.folder()

assert(fs.mkdirs(ROOT .. "/run"))
given.write(ROOT .. "/run/" .. layout.manifest, given.read(FIXTURE .. "/" .. layout.manifest))
given.write(ROOT .. "/run/" .. layout.results,
  given.few_kernels(given.read(FIXTURE .. "/" .. layout.results)))


-- ---- what the server has instead of a machine ----

local coming, at, pieces = "", 1, 1

local function read()
  local piece = coming:sub(at, at + pieces - 1)
  at = at + #piece
  return piece
end


-- Children are not started: what they would be told is looked at, and those that answer
-- soon are asked in this process.
local HERE = { ls = true, digest = true }

local function run(words, options)
  for i = 1, #words do
    assert(type(words[i]) == "string" and not words[i]:find("\0", 1, true), "a word for a program")
  end
  if options.is_cancelled() then errors.raise("closed", "cancelled") end
  if not HERE[words[1]] then return '{"rows":[{"name":"a"}],"comparisons":[{"kernels":[]}]}' end
  local status, said = given.command(table.unpack(words))
  if status ~= 0 then errors.raise("failed", said) end
  return said
end


-- ---- a conversation ----

local REQUESTS = {
  { method = "initialize", params = { protocolVersion = "2025-06-18" } },
  { method = "initialize", params = { protocolVersion = "2025-03-26" } }, -- which has batches
  { method = "tools/list" },
  { method = "resources/list", params = {} },
  { method = "resources/read", params = { uri = "llmprof://docs/mcp.md" } },
  { method = "resources/read", params = { uri = "llmprof://runs/run/report.md" } },
  { method = "notifications/cancelled", params = { requestId = 1 } },
  { method = "tools/call", params = { name = "runs", arguments = { top = 3 } } },
  { method = "tools/call", params = { name = "digest", arguments = { run = "run", bytes = 900 } } },
  { method = "tools/call", params = { name = "table", arguments = { run = "run",
    section = "kernels", filter = { name = "a" }, top = 2 } } },
  { method = "tools/call", params = { name = "query", arguments = { run = "run", code = "1" } } },
  { method = "tools/call", params = { name = "compare", arguments = { before = "run",
    after = "run", top = 1 } } },
  { method = "server/discover", params = { _meta = {
    ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28",
    ["io.modelcontextprotocol/clientCapabilities"] = {} } } },
}
for i, request in ipairs(REQUESTS) do
  request.jsonrpc, request.id = "2.0", i
  REQUESTS[i] = json.encode(request)
end
REQUESTS[#REQUESTS + 1] = "[" .. table.concat(REQUESTS, ",", 1, 3) .. "]"


local function conversation(input)
  local request = json.decode(input:pick(REQUESTS))
  local first, another = input:pick(REQUESTS), input:pick(REQUESTS)
  given.change(request, input)
  return table.concat({ first, json.encode(request) or "{", another, "" }, "\n")
end


local function check_answer(line)
  local message = json.decode(line)
  if message and message[1] then -- to a batch
    for _, one in ipairs(message) do check_answer(assert(json.encode(one))) end
    return
  end
  assert(message and message.jsonrpc == "2.0", line)
  assert((message.result == nil) ~= (message.error == nil), line)
  assert(not message.error or message.error.code ~= -32603, line)
end


local function serve()
  local said = {}
  local write, flush, plain_run, plain_read, readable = out.write, out.flush, tools.run,
    sys.read, sys.readable
  out.write = function(line) said[#said + 1] = line end
  out.flush = function() end
  tools.run, sys.read, sys.readable = run, read, function() return at <= #coming end
  server.run { root = ROOT, seconds = 1 }
  out.write, out.flush, tools.run, sys.read, sys.readable = write, flush, plain_run, plain_read,
    readable
  for _, line in ipairs(said) do check_answer(line) end
end


function fuzz(bytes) -- luacheck: ignore 111
  local input = given.input(bytes)
  local is_changed = input:byte() % 4 ~= 0
  pieces, at = 1 + input:byte() * 16, 1
  coming = is_changed and conversation(input) or input:rest()
  serve()
end
