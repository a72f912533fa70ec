-- llmprof record RUN FOLDER: keep what a run captured as a recorded capture.
local artifacts = require "llmprof.artifacts"
local defaults = require "llmprof.defaults"
local errors = require "llmprof.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local layout = require "llmprof.capture.layout"
local scrub = require "llmprof.scrub"
local text = require "llmprof.text"

local command = {
  name = "record",
  summary = "keep what a run captured as a recorded capture",
  usage = "record [OPTION...] RUN FOLDER",
  details = [[
Copies the timeline (scrubbed), counters, operators and the workload's own numbers
of a run into a folder that `capture=recorded recorded=FOLDER` analyses again,
on any machine. RUN is a run's id, its folder or latest.]],
  options = {
    { "root", arg = "DIR", default = defaults["run.root"][2], help = "where runs are kept" },
  },
  completes = "run",
}


local function check(value, message)
  return errors.check("failed", value, message)
end


-- ---- capture.json ----

-- A word of a command line without where things lie on this machine.
local function portable_word(word, dir)
  local start, finish = word:find(dir, 1, true)
  if start then return word:sub(1, start - 1) .. "<run>" .. word:sub(finish + 1) end
  return (word:gsub("^/.*/", ""))
end


local function command_of(run)
  local step = run:recorded "timeline"
  for _, argv in ipairs(step and step.commands or {}) do
    local words = {}
    for i, word in ipairs(argv) do words[i] = portable_word(word, run.dir) end
    if words[1] == "nsys" and words[2] == "profile" then return table.concat(words, " ") end
  end
  return nil
end


-- What llmprof was called with, as people would type it.
local function recorded_by(run)
  local words = {}
  for i, word in ipairs(run.manifest.command or {}) do words[i] = portable_word(word, run.dir) end
  return #words > 0 and table.concat(words, " ") or nil
end


-- The machine, without what tells one GPU of a kind from another.
local function environment_of(run)
  local record = check(json.load(run:path "env.json"))
  local machine = record.captured_on or {}
  for _, device in ipairs(machine.gpus or {}) do device.uuid, device.pci_bus_id = nil, nil end
  return machine
end


local about_keys = { "tool", "counters_tool", "date", "command", "recorded_by", "environment" }

local function about(run, source)
  return json.ordered({
    tool = source.timeline.tool,
    counters_tool = source.counters and source.counters.tool,
    date = source.timeline.recorded,
    command = command_of(run),
    recorded_by = recorded_by(run),
    environment = environment_of(run),
  }, about_keys)
end


-- ---- files ----

local function copy(run, file, target)
  check(fs.mkdirs(target:match "^(.*)/"))
  if file.name == "run.sqlite" then
    fs.remove(target)
    check(scrub.copy(run:path(file.target), target))
  else
    check(fs.copy(run:path(file.target), target))
  end
end


local function check_run(run)
  for _, name in ipairs { "results.json", "nsys/run.sqlite" } do
    if not run:has(name) then
      errors.raise("usage", ("%s: no %s: there is nothing to record"):format(run.dir, name))
    end
  end
  local source = check(json.load(run:path "results.json")).source
  if source.timeline.from == "recorded" then
    errors.raise("usage", ("%s analysed a recorded capture itself"):format(run.dir),
      { hint = "copy that capture's folder: inputs.yaml names it" })
  end
  return source
end


local function check_empty(folder)
  if #(fs.list(folder) or {}) > 0 then
    errors.raise("usage", ("%s: the folder is not empty"):format(folder),
      { hint = "choose another, or remove it first" })
  end
end


function command.run(given, words)
  if #words ~= 2 then
    errors.raise("usage", "a run and a folder are expected",
      { hint = "llmprof record latest FOLDER" })
  end
  local run, folder = artifacts.open(words[1], given.root), words[2]
  local source = check_run(run)
  check_empty(folder)
  local bytes, count = 0, 0
  for _, file in ipairs(layout.files) do
    if run:has(file.target) then
      local target = folder .. "/" .. file.name
      copy(run, file, target)
      bytes, count = bytes + check(fs.stat(target)).size, count + 1
    end
  end
  local encoded = check(json.encode(about(run, source), { pretty = true }))
  check(fs.write(folder .. "/" .. layout.ABOUT, encoded .. "\n"))
  io.stdout:write(("%s: %d files, %s bytes, and %s\n"):format(folder, count, text.count(bytes),
    layout.ABOUT))
  return 0
end


return command
