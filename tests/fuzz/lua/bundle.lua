-- The folder of a run that a stranger changed: one of its documents, as the bytes say.
-- Commands are given it, and whatever they make of it, it is no bug.
local chapters = require "llmprof.report.chapters"
local fs = require "llmprof.fs"
local given = dofile "tests/fuzz/lua/given.lua"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local results_file = require "llmprof.bundle.results_file"
local sections = require "llmprof.report.sections"
local documents = require "llmprof.report.documents"

local render = { documents.kernels, documents.full, documents.stakeholder,
  documents.operators, documents.page }

local FIXTURE = "tests/fixtures/compare/graph"
local ROOT = given.folder()
local RUN, SOUND = ROOT .. "/run", ROOT .. "/sound"

local NAMES = { layout.results, layout.results, layout.results, layout.manifest,
  layout.workload.metrics, layout.metrics_in(layout.workload.before) }

local FORMATS = { "table", "csv", "md", "json", "html" }

-- Made once: each call changes a file of RUN and puts it back.
local whole = {}
for _, name in ipairs { layout.results, layout.manifest, layout.config, layout.workload.metrics,
  layout.metrics_in(layout.workload.before), layout.metrics_in(layout.workload.after) } do
  whole[name] = given.read(FIXTURE .. "/" .. name)
  if name == layout.results then whole[name] = given.few_kernels(whole[name]) end
  for _, folder in ipairs { RUN, SOUND } do
    assert(fs.mkdirs((folder .. "/" .. name):match "^(.*)/"))
    given.write(folder .. "/" .. name, whole[name])
  end
end
assert(results_file.read(RUN .. "/" .. layout.results))


local function render_all()
  local results = results_file.load(RUN .. "/" .. layout.results)
  local entries = chapters.layout { "all" }
  for _, one in ipairs(render) do one(results, entries) end
end


local commands = {
  function(input)
    given.command("show", RUN, input:pick(sections.all()).name, "-f", input:pick(FORMATS))
  end,
  function() given.command("show", RUN) end,
  function(input) given.command("compare", SOUND, RUN, "-f", input:pick(FORMATS)) end,
  function() given.command("compare", RUN, SOUND) end,
  function() given.command("compare", RUN, RUN) end,
  function() given.command("ls", "--root", ROOT) end,
  function() given.command("ls", "--root", ROOT, "run") end,
  function(input) given.command("digest", RUN, "-f", input:pick { "text", "json" }) end,
  function() given.try(render_all) end,
  function() given.command("-e", "print(results)", RUN) end,
}


function fuzz(bytes) -- luacheck: ignore 111
  local input = given.input(bytes)
  local name, command = input:pick(NAMES), input:pick(commands)
  local value = json.decode(whole[name], { ordered = true })
  local more = given.input(bytes:sub(5))
  given.change(value, more)
  local text = json.encode(value)
  if not text then return end
  given.write(RUN .. "/" .. name, text)
  command(input)
  given.write(RUN .. "/" .. name, whole[name])
end
