-- Stand-ins for what a run needs a GPU for, so that a recipe's whole chain can be tried
-- without one: nsys and ncu, which "measure" a recorded capture of another model, and a
-- Python that runs nothing and writes numbers. They are the programs that llmprof's own
-- tests use.
local command_line = require "llmprof.process.command_line"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local private = require "llmprof.bundle.private"
local resources = require "llmprof.resources"

local standins = {}

local quote = command_line.quote

-- What plays which part, and which key of the configuration says so.
local PARTS = { { key = "tools.nsys", program = "nsys" }, { key = "tools.ncu", program = "ncu" },
  { key = "python", program = "workload" } }

local SHIPPED = "tests/standin/"
local CAPTURE = "recipes/recorded/alt_llm"

-- What is said of a run that they took part in.
standins.NOTE = "stand-ins played nsys, ncu and Python: no figure is of this workload"


local check = errors.check


-- The recorded capture that they pretend to have measured.
local function capture_folder()
  local folder = files.find_folder(CAPTURE)
  if not folder then
    errors.raise("usage", "--with-standins: no recorded capture to play with in " .. CAPTURE,
      { hint = "it is beside the recipes that ship with llmprof; LLMPROF_HOME=FOLDER says where" })
  end
  return check(fs.realpath(folder))
end


-- A program that is no part of llmprof's tree, with what it reads of the environment.
local SCRIPT = [[
#!/bin/sh
export STANDIN_LOG=%s STANDIN_SQLITE=%s STANDIN_RAW=%s
exec bash %s "$@"
]]


local function write_program(path, text)
  check(fs.write(path, text))
  check(fs.chmod(path, tonumber("700", 8)))
end


-- The stand-ins in a folder of their own: settings for a command line, and the folder,
-- which goes when it is closed.
function standins.open()
  local capture = capture_folder()
  local folder = private.folder(os.getenv "TMPDIR" or "/tmp")
  check(fs.mkdirs(folder.path .. "/log"))
  check(fs.mkdirs(folder.path .. "/bin"))
  local settings = { "capture=nsys" }
  for _, name in ipairs { "common.sh", "nsys", "ncu", "workload" } do
    write_program(folder.path .. "/" .. name, check(resources.get(SHIPPED .. name)))
  end
  for _, part in ipairs(PARTS) do
    local path = ("%s/bin/%s"):format(folder.path, part.program)
    write_program(path, SCRIPT:format(quote(folder.path .. "/log"),
      quote(capture .. "/" .. layout.recorded_name(layout.timeline)),
      quote(capture .. "/" .. layout.recorded_name(layout.counters)),
      quote(folder.path .. "/" .. part.program)))
    settings[#settings + 1] = ("%s=%s"):format(part.key, path)
  end
  return settings, folder
end


return standins
