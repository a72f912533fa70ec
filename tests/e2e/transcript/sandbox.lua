-- The folder a transcript plays in, with a home and a folder for temporary
-- files of its own; some of its entries are links into the source tree.
local fs = require "llmprof.fs"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

local sandbox = {}

local Sandbox = {}
Sandbox.__index = Sandbox

local MARK = "LLMPROF_TRANSCRIPT"
local links = { recipes = "recipes", fixtures = "tests/fixtures",
  e2e = "tests/e2e" }


-- Every file below a folder with its size and time, as one text.
local function listing(folder)
  local lines = {}
  local function visit(path)
    local info = fs.lstat(path)
    if info and info.type == "directory" then
      for _, name in ipairs(fs.list(path) or {}) do
        if name ~= "__pycache__" then visit(path .. "/" .. name) end
      end
    elseif info then
      lines[#lines + 1] = ("%s %d %d"):format(path, info.size, info.mtime_ns)
    end
  end
  visit(folder)
  return table.concat(lines, "\n")
end


function sandbox.new(source)
  local top = assert(fs.temp_dir "llmprof-transcript")
  local box = setmetatable({ top = top, source = source, folder = top .. "/work",
    home = top .. "/home", cache = top .. "/cache", tmp = top .. "/tmp", before = {} }, Sandbox)
  for _, folder in ipairs { box.folder, box.home, box.tmp } do assert(fs.mkdir(folder)) end
  for name, target in pairs(links) do
    assert(fs.symlink(source .. "/" .. target, box.folder .. "/" .. name))
    box.before[target] = listing(source .. "/" .. target)
  end
  return box
end


function Sandbox:__close()
  assert(fs.remove_tree(self.top))
end


function Sandbox:write(name, contents)
  assert(fs.write(self.folder .. "/" .. name, contents))
end


function Sandbox:environment()
  local program = assert(sys.executable()):match "^(.*)/[^/]*$"
  return { [MARK] = self.top, PATH = program .. ":" .. os.getenv "PATH", HOME = self.home,
    XDG_CACHE_HOME = self.cache, TMPDIR = self.tmp, LC_ALL = "C.UTF-8",
    TZ = "UTC", LLMPROF_HOME = false }
end


-- Run a command by bash; the lines it printed, as a transcript has them.
function Sandbox:run(command)
  local out = { stdout = {}, stderr = {} }
  local result = assert(spawn.run({ "bash", "-c", command }, {
    cwd = self.folder, env = self:environment(), timeout = 300,
    on_line = function(line, stream) table.insert(out[stream], line) end,
  }))
  local lines = out.stdout
  for _, line in ipairs(out.stderr) do lines[#lines + 1] = "! " .. line end
  if result.signal then
    lines[#lines + 1] = ("[%s]"):format(result.timed_out and "time limit" or result.signal)
  elseif result.code ~= 0 then
    lines[#lines + 1] = ("[%d]"):format(result.code)
  end
  return lines
end


-- ---- what is left behind ----

-- The environment of a process, or nil. It reads as empty in the middle of an exec, and
-- always where there is no memory, of a thread of the kernel or a zombie.
local function environment_of(pid)
  for _ = 1, 1000 do
    local environ = fs.read("/proc/" .. pid .. "/environ")
    local size = environ == "" and fs.read("/proc/" .. pid .. "/statm")
    if not size or size:find "^0 " then return environ end
  end
end


local function add_processes(list, mark)
  for _, pid in ipairs(fs.list "/proc" or {}) do
    local environ = pid:find "^%d+$" and environment_of(pid)
    if environ and environ:find(mark, 1, true) then
      local name = fs.read("/proc/" .. pid .. "/comm") or "?"
      list[#list + 1] = ("process %s (%s)"):format(pid, (name:gsub("\n", "")))
    end
  end
end


-- Processes that still run, and files outside the folder, as lines.
function Sandbox:leftovers()
  local list = {}
  add_processes(list, ("%s=%s\0"):format(MARK, self.top))
  for _, folder in ipairs { self.home, self.tmp, self.cache .. "/llmprof/private" } do
    for _, name in ipairs(fs.list(folder) or {}) do list[#list + 1] = folder .. "/" .. name end
  end
  for _, target in pairs(links) do
    if listing(self.source .. "/" .. target) ~= self.before[target] then
      list[#list + 1] = "changes in " .. target
    end
  end
  table.sort(list)
  return list
end


return sandbox
