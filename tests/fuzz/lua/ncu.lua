-- The tables that ncu prints, as any bytes: the first says which page is expected.
local given = dofile "tests/fuzz/lua/given.lua"
local ncu = require "llmprof.nvidia.ncu"


local WHERE = "tests/fixtures/ncu/tiny_h200_"
local sound = { raw = assert(ncu.read(WHERE .. "raw.csv")),
  details = assert(ncu.read(WHERE .. "details.csv", { page = "details" })) }


local function check(text, page)
  local result, message = ncu.read_text(text, page ~= "" and { page = page } or nil)
  assert(result or message ~= "")
  if not result then return end
  ncu.merge(result.page == "raw" and result or sound.raw,
    result.page == "details" and result or sound.details)
end


function fuzz(bytes) -- luacheck: ignore 111
  local input = given.input(bytes)
  local page = input:pick { "raw", "details", "" }
  given.try(check, input:rest(), page)
end
