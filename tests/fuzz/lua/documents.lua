-- Any bytes as one of the documents that a schema describes: what fits is written, and
-- what is written fits.
local document = require "llmprof.io.document"
local given = dofile "tests/fuzz/lua/given.lua"
local json = require "llmprof.json"

local NAMES = { "results", "metrics", "operators", "manifest", "capture", "gpu_samples" }


local function check(name, value)
  if document.check(name, value) then return end
  local text = document.encode(name, value)
  assert(not document.check(name, json.decode(text)))
end


function fuzz(bytes) -- luacheck: ignore 111
  local input = given.input(bytes)
  local name = input:pick(NAMES)
  local value = json.decode(input:rest())
  if value ~= nil then given.try(check, name, value) end
end
