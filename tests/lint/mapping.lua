-- Does every demand in docs/MAPPING.md name what is there? Run by llmprof exec, in
-- the source tree. Commands are run, with RUN a bundle made of the recorded
-- capture, and print what stands behind "prints"; files must be in the tree or in that
-- bundle, tests among the tests.
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

local PAGE, DEMANDS = "docs/MAPPING.md", 71

local faults = {}
local scratch <close> = setmetatable({ dir = assert(fs.temp_dir "llmprof-mapping") },
  { __close = function(self) fs.remove_tree(self.dir) end })
local bundle = scratch.dir .. "/run"


local function fault(format, ...)
  faults[#faults + 1] = format:format(...)
end


-- A command of the page: with RUN and the program in their places. Its exit
-- status and its last line.
local function run(command)
  local script = command:gsub("%f[%w]RUN%f[%W]", bundle):gsub("^llmprof", '"$LLMPROF"')
  local result = assert(spawn.run({ "bash", "-c", script }, {
    stdout = scratch.dir .. "/out", stderr = scratch.dir .. "/err", timeout = 120,
    env = { LLMPROF = sys.executable(), NO_COLOR = "1", XDG_CACHE_HOME = scratch.dir } }))
  local said = fs.read(scratch.dir .. "/err") or ""
  return result.code, said:match "([^\n]*)\n*$"
end


-- ---- what a cell names ----

local outputs = {} -- of the commands that ran

local function check_command(where, command)
  if outputs[command] then return end
  local recorded = command:find("capture=recorded", 1, true)
  recorded = recorded and not command:find("--dry-run", 1, true)
  local code, said = run(recorded and command .. " out=" .. scratch.dir .. "/again --quiet"
    or command)
  outputs[command] = fs.read(scratch.dir .. "/out")
  if recorded then fs.remove_tree(scratch.dir .. "/again") end
  -- doctor's status is that of the machine
  if code ~= 0 and command ~= "llmprof doctor" then
    fault("%s: `%s` ends with %s: %s", where, command, code, said)
  end
end


local function check_file(where, name, live)
  local in_run = name:match "^RUN/(.+)$"
  if in_run and live then return end
  if not fs.stat(in_run and bundle .. "/" .. in_run or name) then
    fault("%s: there is no %s", where, name)
  end
end


local function check_place(where, cell)
  local seen = 0
  for name in cell:gsub("prints `[^`]+`", ""):gmatch "`([^`]+)`" do
    if name:find "^llmprof " then
      check_command(where, name)
      seen = seen + 1
    elseif name:find "/" and not name:find "[ =*<]" or name == ".gitignore" then
      check_file(where, name, cell:find("live runs", 1, true))
      seen = seen + 1
    end
  end
  if seen == 0 then fault("%s: it names no command and no file", where) end
  for command, text in cell:gmatch "`(llmprof [^`]+)` prints `([^`]+)`" do
    if not outputs[command]:find(text, 1, true) then
      fault("%s: `%s` does not print %s", where, command, text)
    end
  end
end


-- Where a test lies, by the first part of its name.
local folders = {
  lua = function(name) return "tests/lua/spec/" .. name:gsub("%.", "/") .. "_spec.lua" end,
  e2e = function(name)
    if name == "docs" then return "tests/e2e/transcript.lua" end
    return ("tests/e2e/transcripts/%s.md"):format(name)
  end,
  lint = function(name)
    local lua = "tests/lint/" .. name .. ".lua"
    return fs.stat(lua) and lua or "tests/lint/" .. name .. ".sh"
  end,
  gpu = function(name) return "tests/gpu/" .. name .. ".sh" end,
  workloads = function() return "tests/workloads/run.py" end,
}

local function check_test(where, cell)
  local label, name = cell:match "`(%l[%w]*)%.([%w_.]+)`"
  local file = folders[label] and folders[label](name)
  if not file or not fs.stat(file) then fault("%s: there is no test %s", where, cell) end
end


-- ---- the page ----

-- Cells of a row of the table of demands, or nil.
local function cells_of(line)
  if not line:find "^| %d+ |" then return nil end
  local cells = {}
  for cell in line:gmatch "|([^|]*)" do cells[#cells + 1] = cell:match "^%s*(.-)%s*$" end
  return cells
end


local function check_row(cells, number)
  local where = ("%s: demand %d"):format(PAGE, number)
  if tonumber(cells[1]) ~= number then fault("%s: it is numbered %s", where, cells[1]) end
  check_place(where, cells[5] or "")
  check_test(where, cells[6] or "")
end


local function check_replaced(text)
  for name, before in pairs(layout.replaces) do
    if not text:find("`" .. before .. "`", 1, true) then
      fault("%s: no row says that %s replaces %s", PAGE, name, before)
    end
  end
end


local code, said = run("llmprof recipes/deepseek_ocr.lua capture=recorded --quiet out=" .. bundle)
if code ~= 0 then fault("the recorded run ends with %d: %s", code, said) end
local text, number = assert(fs.read(PAGE)), 0
for line in text:gmatch "[^\n]+" do
  local cells = cells_of(line)
  if cells then
    number = number + 1
    check_row(cells, number)
  end
end
if number ~= DEMANDS then fault("%s: %d demands, not %d", PAGE, number, DEMANDS) end
check_replaced(text)
for _, line in ipairs(faults) do io.stderr:write(line, "\n") end
return #faults > 0 and 1 or 0
