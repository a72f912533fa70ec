-- Runs of llmprof with the stand-in tools of tests/standin on PATH, for specs.
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

local live = {}

local RECIPE = "tests/standin/recipe.lua"

local Run = {}
Run.__index = Run


-- ---- what was run ----

-- The calls of a tool (nsys, ncu, workload) in order, each a list of words.
function Run:calls(tool)
  local list = {}
  for _, name in ipairs(assert(fs.list(self.log))) do
    if name:match "%.(.*)$" == tool then
      local words = {}
      for line in assert(fs.read(self.log .. "/" .. name)):gmatch "([^\n]*)\n" do
        words[#words + 1] = line
      end
      list[#list + 1] = words
    end
  end
  return list
end


-- The words of the only call of a tool whose second word is this.
function Run:call(tool, second)
  local found
  for _, words in ipairs(self:calls(tool)) do
    if words[2] == second then
      assert(not found, ("%s %s ran twice"):format(tool, second))
      found = words
    end
  end
  return assert(found, ("%s %s did not run"):format(tool, second))
end


-- Profiling runs of ncu; the others import and query.
function Run:ncu_profiles()
  local list = {}
  for _, words in ipairs(self:calls "ncu") do
    if table.concat(words, " "):find("--target-processes", 1, true) then list[#list + 1] = words end
  end
  return list
end


-- The value of --NAME=... among words, and nil when it was not given.
function live.option(words, name)
  for _, word in ipairs(words) do
    local value = word:match("^%-%-" .. name:gsub("%-", "%%-") .. "=(.*)$")
    if value then return value end
  end
  return nil
end


-- The word after --NAME, nil when it was not given.
function live.value(words, name)
  for i, word in ipairs(words) do
    if word == "--" .. name then return words[i + 1] end
  end
  return nil
end


-- ---- what came of it ----

function Run:path(name) return self.out .. "/" .. name end
function Run:has(name) return fs.stat(self:path(name)) ~= nil end
function Run:read(name) return assert(fs.read(self:path(name))) end
function Run:json(name) return assert(json.load(self:path(name))) end
function Run:manifest() return self:json "manifest.json" end


-- The manifest's entry of a step.
function Run:step(name)
  for _, step in ipairs(self:manifest().steps) do
    if step.name == name then return step end
  end
  return nil
end


-- Is the process alive whose id the workload left behind?
function Run:left_alive()
  local pid = assert(fs.read(self.log .. "/pid")):match "%d+"
  local stat = fs.read(("/proc/%s/stat"):format(pid))
  return stat ~= nil and not stat:find "%) [ZX] "
end


-- ---- running ----

local folders = {}


local function environment(log, given)
  local env = { STANDIN_LOG = log, NO_COLOR = "1",
    PATH = assert(fs.realpath "tests/standin") .. ":" .. os.getenv "PATH" }
  for name, value in pairs(given or {}) do env[name] = value end
  return env
end


-- A folder for a test; clean() removes it.
function live.folder()
  folders[#folders + 1] = assert(fs.temp_dir "llmprof-live-")
  return folders[#folders]
end


-- Run llmprof with these words and variables. Returns { code, output (lines as
-- one text), stdout (likewise) } with the methods above. on_line may look at
-- the run while it goes: on_line(run, line).
function live.llmprof(words, env, on_line)
  local folder = live.folder()
  local run = setmetatable({ log = folder .. "/calls", out = folder .. "/out" }, Run)
  assert(fs.mkdir(run.log))
  local all, out = {}, {}
  local argv = table.move(words, 1, #words, 2, { sys.executable() })
  for i, word in ipairs(argv) do argv[i] = word:gsub("^out=$", "out=" .. run.out) end
  local result = assert(spawn.run(argv, { env = environment(run.log, env), timeout = 60,
    on_line = function(line, stream)
      all[#all + 1] = line
      if stream == "stdout" then out[#out + 1] = line end
      if on_line then on_line(run, line) end
    end }))
  run.code, run.signal = result.code, result.signal
  run.output, run.stdout = table.concat(all, "\n"), table.concat(out, "\n")
  return run
end


-- Run the stand-in recipe with these settings.
function live.run(settings, env, on_line)
  return live.llmprof(table.move(settings or {}, 1, #(settings or {}), 3, { RECIPE, "out=" }), env,
    on_line)
end


-- Remove what the runs left; for after_each.
function live.clean()
  for _, folder in ipairs(folders) do assert(fs.remove_tree(folder)) end
  folders = {}
end


return live
