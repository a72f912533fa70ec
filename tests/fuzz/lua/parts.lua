-- What is kept of each rank, in bundles of several: parts that llmprof wrote, one of them
-- with another head or other bytes. They are put together again.
local fs = require "llmprof.fs"
local given = dofile "tests/fuzz/lua/given.lua"
local json = require "llmprof.json"
local part = require "llmprof.ranks.part"

local TOP = given.folder()

assert(given.command("ranks", "--shard", "1/1", "-o", TOP, "tests/fixtures/two_gpus/run.sqlite",
  "tests/fixtures/nccl2/rank0.sqlite") == 0)
local names = assert(fs.list(TOP))
local whole = {}
for _, name in ipairs(names) do whole[name] = given.read(TOP .. "/" .. name) end


-- Another head over the same frames.
local function with_head(bytes, input)
  local magic, line, frames = bytes:match "^([^\n]*\n)([^\n]*\n)(.*)$"
  local head = json.decode(line)
  given.change(head, input)
  return magic .. (json.encode(head) or "") .. "\n" .. frames
end


local changes = {
  with_head,
  with_head,
  given.patch,
  function(_, input) return input:rest() end,
}


local function round(bytes)
  local made = part.decode(bytes)
  if made then part.encode(made) end
end


function fuzz(bytes) -- luacheck: ignore 111
  local input = given.input(bytes)
  local name = input:pick(names)
  local changed = input:pick(changes)(whole[name], input)
  given.try(round, changed)
  given.write(TOP .. "/" .. name, changed)
  given.command("ranks", "--merge", TOP)
  given.write(TOP .. "/" .. name, whole[name])
end
