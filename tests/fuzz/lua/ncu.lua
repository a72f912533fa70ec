-- The tables that ncu prints, as any bytes: the first says which page is expected.
local given = dofile "tests/fuzz/lua/given.lua"
local ncu = require "llmprof.nvidia.ncu"


local WHERE = "tests/fixtures/ncu/tiny_h200_"
local sound = { raw = assert(ncu.read(WHERE .. "raw.csv")),
  details = assert(ncu.read(WHERE .. "details.csv", { page = "details" })) }


-- A figure of a record, by its path; false without.
local function at(record, path)
  for part in path:gmatch "[^.]+" do record = record and record[part] end
  return record or false
end


-- The columns of a page say what its records do.
local function compare(launches, result)
  assert(#launches == #result.launches)
  for i, record in ipairs(result.launches) do
    for path in pairs(record.source) do
      local value, column = at(record, path), launches:get(i, path) or false
      assert(value == column, path)
    end
  end
end


local function check(text, page)
  local result, message = ncu.read_text(text, page ~= "" and { page = page } or nil)
  assert(result or message ~= "")
  if page == "raw" then
    local launches, why = ncu.launches_of_text(text)
    assert((launches == nil) == (result == nil), why or message)
    assert(launches or why == message, why)
    if launches then compare(launches, result) end
  end
  if not result then return end
  ncu.merge(result.page == "raw" and result or sound.raw,
    result.page == "details" and result or sound.details)
end


function fuzz(bytes) -- luacheck: ignore 111
  local input = given.input(bytes)
  local page = input:pick { "raw", "details", "" }
  given.try(check, input:rest(), page)
end
