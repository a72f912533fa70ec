-- A recorded capture that a stranger changed: one of the documents beside its timeline,
-- or the counters, as the bytes say. A run of it is made, up to the reports.
local fs = require "llmprof.fs"
local given = dofile "tests/fuzz/lua/given.lua"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"

local SOUND = "tests/fixtures/small"
local SAMPLES = "tests/fixtures/deepseek_ocr/" .. layout.recorded_name(layout.gpu_samples)
local TOP = given.folder()
local FOLDER, OUT = TOP .. "/capture", TOP .. "/out"

local NAMES = { layout.ABOUT, "metrics.json", "metrics.json", "operators.json", "before.json",
  "after.json", "gpu_samples.json", "ncu/raw.csv" }

assert(fs.mkdirs(FOLDER .. "/ncu"))
local whole = {}


local function put(name, contents)
  given.write(FOLDER .. "/" .. name, contents)
  return contents
end


for _, name in ipairs { layout.ABOUT, "metrics.json", "operators.json", "ncu/raw.csv",
  "run.sqlite" } do
  whole[name] = put(name, given.read(SOUND .. "/" .. name))
end
whole["before.json"] = put("before.json", whole["metrics.json"])
whole["after.json"] = put("after.json", whole["metrics.json"])
-- a few of the samples: each call reads them all
local samples = json.decode(given.read(SAMPLES))
whole["gpu_samples.json"] = put("gpu_samples.json", json.encode(json.list(
  table.move(samples, 1, 4, 1, {}))))


local function changed(name, input)
  if name:find "%.csv$" then return given.patch(whole[name], input) end
  local value = json.decode(whole[name], { ordered = true })
  given.change(value, input)
  return json.encode(value)
end


function fuzz(bytes) -- luacheck: ignore 111
  local input = given.input(bytes)
  local name = input:pick(NAMES)
  local text = changed(name, input)
  if not text then return end
  put(name, text)
  fs.remove_tree(OUT)
  given.command("recipes/deepseek_ocr.lua", "capture=recorded", "recorded=" .. FOLDER,
    "out=" .. OUT, "-q")
  put(name, whole[name])
end
