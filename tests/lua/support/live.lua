-- Runs of llmprof with the stand-in tools of tests/standin on PATH, for specs.
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

local live = {}

local RECIPE = "tests/standin/recipe.lua"

-- An nsys whose importer lacks a library, and the PATH with the ldd that says so.
live.BROKEN_NSYS = "tests/standin/broken/nsight/target/nsys"
live.BROKEN_PATH = assert(fs.realpath "tests/standin/broken") .. ":" .. os.getenv "PATH"

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


-- Is the process alive whose id the workload left behind? Its time may be over before it begins.
function Run:left_alive()
  local pid = (fs.read(self.log .. "/pid") or ""):match "%d+"
  local stat = pid and fs.read(("/proc/%s/stat"):format(pid))
  return stat ~= nil and not stat:find "%) [ZX] "
end


-- ---- running ----

local folders = {}


local function environment(log, given)
  local env = { STANDIN_LOG = log, NO_COLOR = "1", XDG_CACHE_HOME = log .. "/cache",
    PATH = assert(fs.realpath "tests/standin") .. ":" .. os.getenv "PATH" }
  for name, value in pairs(given or {}) do env[name] = value end
  return env
end


-- A folder for a test; clean() removes it.
function live.folder()
  folders[#folders + 1] = assert(fs.temp_dir "llmprof-live-")
  return folders[#folders]
end


-- A folder for LD_LIBRARY_PATH whose NVML is one of the fakes of the C tests.
function live.nvml(variant)
  local folder, build = live.folder(), sys.executable():match "^(.*)/bin/"
  assert(fs.symlink(("%s/tests/c/libfake_nvml_%s.so"):format(build, variant),
    folder .. "/libnvidia-ml.so.1"))
  return folder
end


-- A run about to start: its folders, and spawn's argv and options for it.
local function prepare(words, env)
  local folder, lines = live.folder(), {}
  local run = setmetatable({ log = folder .. "/calls", out = folder .. "/out", lines = lines }, Run)
  assert(fs.mkdir(run.log))
  local argv = table.move(words, 1, #words, 2, { sys.executable() })
  for i, word in ipairs(argv) do argv[i] = word:gsub("^out=$", "out=" .. run.out) end
  return run, argv, { env = environment(run.log, env), timeout = 300,
    on_line = function(line) lines[#lines + 1] = line end }
end


local function finish(run, result)
  run.code, run.output = result.code, table.concat(run.lines, "\n")
  return run
end


-- Run llmprof with these words and variables; "out=" names a folder of the
-- test's. Returns { code, output } with the methods above.
function live.llmprof(words, env)
  local run, argv, options = prepare(words, env)
  return finish(run, assert(spawn.run(argv, options)))
end


local function recipe_words(settings)
  return table.move(settings or {}, 1, #(settings or {}), 3, { RECIPE, "out=" })
end


-- Run the stand-in recipe with these settings.
function live.run(settings, env)
  return live.llmprof(recipe_words(settings), env)
end


-- Does the workload hang? It says so before it turns into `sleep`; the shell that it is until
-- then forgets a signal that comes while its last command runs.
local function hangs(run)
  local pid = (fs.read(run.log .. "/pid") or ""):match "%d+"
  return pid ~= nil and fs.read(("/proc/%s/comm"):format(pid)) == "sleep\n"
end


-- The same, ended with a signal once the workload hangs.
function live.end_with(signal, settings, env)
  local run, argv, options = prepare(recipe_words(settings), env)
  local process = assert(spawn.start(argv, options))
  while not hangs(run) and process:pump(0.05) do end
  assert(process:signal(signal))
  return finish(run, assert(process:wait()))
end


-- Remove what the runs left; for after_each.
function live.clean()
  for _, folder in ipairs(folders) do assert(fs.remove_tree(folder)) end
  folders = {}
end


return live
