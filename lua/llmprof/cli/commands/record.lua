-- llmprof record RUN FOLDER: keep what a run captured as a recorded capture.
local files = require "llmprof.io.files"
local lazy = require "llmprof.io.lazy"
local artifacts = lazy "llmprof.bundle.artifacts"
local process = require "llmprof.process.child"
local defaults = require "llmprof.recipe.defaults"
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local layout = lazy "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local nsys = require "llmprof.nvidia.nsys"
local out = require "llmprof.io.output"
local private = lazy "llmprof.bundle.private"
local results_file = lazy "llmprof.bundle.results_file"
local running_cost = lazy "llmprof.analysis.stages.running_cost"
local scrub = require "llmprof.scrub"
local text = require "llmprof.text"
local trace = lazy "llmprof.trace"
local yaml = require "llmprof.yaml"
local user = require "llmprof.recipe.user"

local command = {
  name = "record",
  usage = "record [OPTION...] RUN FOLDER",
  details = [[
Copies the timeline (scrubbed), counters, operators, collapsed stacks (without
paths and commands) and the workload's own numbers of a run into a folder that
`capture=recorded recorded=FOLDER` analyses again, on any machine. RUN is a
run's id, its folder or latest; `llmprof report TRACE` makes one of a trace.]],
  options = {
    user.root_option,
  },
  completes = "run",
}


local check = errors.check


-- ---- capture.json ----

-- A command without where things lie on this machine: the run is <run>, of
-- other absolute paths, lists of them too, the last part is left.
local function portable(run, argv)
  local words = {}
  for i, word in ipairs(argv) do
    for _, dir in ipairs { run:absolute "", run.dir .. "/" } do
      local start, finish = word:find(dir:sub(1, -2), 1, true)
      if start then word = word:sub(1, start - 1) .. "<run>" .. word:sub(finish + 1) end
    end
    words[i] = ("=" .. word):gsub("([=,:%[])/[^,%]]*/", "%1"):sub(2)
  end
  return words
end


local open_groups = { nsys = true, ncu = true, hardware = true, report = true, top_n = true,
  repeats = true, mode = true }

-- Settings of llmprof's own that are choices, switches and numbers, or lists of words for
-- a tool: those of their values can be seen.
local function open_settings()
  local open = {}
  for key, declaration in pairs(defaults) do
    local of_ours = open_groups[key:match "^%l[%l_]*"] and not declaration.runs
    open[key] = declaration.choices ~= nil or of_ours or nil
  end
  return open
end


-- The call of nsys that made the timeline.
local function command_of(run)
  local step = run:recorded "timeline"
  for _, argv in ipairs(step and step.commands or {}) do
    local words = portable(run, argv)
    if words[1] == "nsys" and words[2] == "profile" then
      local workload = process.public_words(table.move(words, 3, #words, 1, {}), nsys.options)
      return process.shown { "nsys", "profile", table.unpack(workload) }
    end
  end
  return nil
end


-- Groups and keys that name places and runs of this machine.
local local_keys = { out = true, run = true, recorded = true, tools = true, python = true }


-- A value, a list or a tree of settings below a key, as others may see it: of texts those of
-- llmprof's own, of a model but for where it lies, and words that are too simple for a secret.
local function public_value(run, key, value, open)
  if type(value) == "string" then
    local is_seen = open[key] or key:find "^model%." or value:find "^%l[%l_]*$" and #value <= 12
    if key == "model.path" or not is_seen then
      value = process.public_words({ "", value }, {})[2]
    end
    return portable(run, { value })[1]
  end
  if type(value) ~= "table" then return value end
  local made, list = {}, #value > 0
  for name, item in pairs(value) do
    local below = list and key or key and key .. "." .. name or name
    if item ~= yaml.null then made[name] = public_value(run, below, item, open) end
  end
  if list then return json.list(made) end
  return next(made) and made or nil
end


-- The settings of the run; empty ones are left out.
local function captured_with(run)
  local tree, kept, open = check(yaml.load(run:path(layout.config))), {}, open_settings()
  for key, value in pairs(tree) do
    if not local_keys[key] then kept[key] = public_value(run, key, value, open) end
  end
  return kept
end


-- Of a GPU, what neither changes from moment to moment nor tells it from another
-- of its kind.
local kept_of_gpu = { "index", "name", "compute_capability", "memory_total_bytes",
  "memory_clock_max_mhz", "sm_clock_max_mhz", "power_limit_w", "mig", "persistence" }

-- The machine. Of the kernel the version alone: what follows it may name a host.
local function environment_of(run)
  local machine = check(document.read(run:path(layout.environment), "env")).captured_on or {}
  for i, device in ipairs(machine.gpus or {}) do
    machine.gpus[i] = {}
    for _, key in ipairs(kept_of_gpu) do machine.gpus[i][key] = device[key] end
  end
  machine.kernel = machine.kernel and machine.kernel:match "^%a+ [%d.]*%d" or machine.kernel
  return machine
end


-- ---- files ----

local function copy(run, file, target)
  check(fs.mkdirs(target:match "^(.*)/"))
  if layout.stage_of_stacks(file.target) then
    -- as they are read: without where files lie, and what processes were called with
    local stacks <close> = check(trace.open(run:path(file.target)))
    check(stacks:write_stacks(check(stacks:frame "cpu_samples"), target))
  elseif file.target == layout.timeline then
    fs.remove(target)
    check(scrub.copy(run:path(file.target), target))
  elseif file.target == layout.gpu_samples then
    -- of other GPUs than those that ran it nothing is kept: what is kept does not tell which is
    -- which
    local samples = check(document.read(run:path(file.target), "gpu_samples"))
    local used = running_cost.gpus_of(results_file.load(run:path(layout.results)).environment)
    if next(used) then
      samples = json.list(lists.filtered(samples, function(sample) return used[sample.index] end))
    end
    check(fs.write(target, document.encode("gpu_samples", samples)))
  else
    check(fs.copy(run:path(file.target), target))
  end
end


local function check_run(run)
  for _, name in ipairs { layout.results, layout.timeline } do
    if not run:has(name) then
      errors.raise("usage", ("%s: no %s: there is nothing to record"):format(run.dir, name))
    end
  end
  local source = results_file.load(run:path(layout.results)).source
  if not source.timeline then
    errors.raise("usage", ("%s: its timeline holds no events: there is nothing to record")
      :format(run.dir))
  end
  if source.timeline.from == "recorded" then
    errors.raise("usage", ("%s analysed a recorded capture itself"):format(run.dir),
      { hint = "copy that capture's folder: inputs.yaml names it" })
  end
  return source
end


local function check_empty(folder)
  if #files.list(folder) > 0 then
    errors.raise("usage", ("%s: the folder is not empty"):format(folder),
      { hint = "choose another, or remove it first" })
  end
end


-- Its files into a folder that is to be made; their number and bytes.
local function fill(run, source, folder)
  local bytes, count, called = 0, 0, run.manifest.command or {}
  check(fs.mkdir(folder))
  local recorded = lists.filtered(layout.recorded, function(file) return run:has(file.target) end)
  local stacks = lists.map(layout.stacks_in(run.dir), function(name)
    return { name = name, target = name }
  end)
  for _, file in ipairs(lists.joined(recorded, stacks)) do
    local target = folder .. "/" .. file.name
    copy(run, file, target)
    bytes, count = bytes + check(fs.stat(target)).size, count + 1
  end
  check(fs.write(folder .. "/" .. layout.ABOUT, document.encode("capture", {
    tool = source.timeline.tool,
    counters_tool = source.counters and source.counters.tool,
    date = source.timeline.recorded,
    command = command_of(run),
    -- what llmprof was called with, as people would type it
    recorded_by = #called > 0 and process.shown(process.public_words(portable(run, called),
      open_settings())) or nil,
    captured_with = captured_with(run),
    environment = environment_of(run),
  })))
  return count, bytes
end


-- The folder is there when it is whole: it is made beside, and what a killed command
-- leaves there is removed by the next.
local function record(run, source, folder)
  local parent, name = folder:match "^(.-)/*([^/]+)/*$"
  if not name or name == "." or name == ".." then
    errors.raise("usage", ("%s: this cannot name a new folder"):format(folder))
  end
  if parent == "" then parent = folder:find "^/" and "/" or "." end
  check(fs.mkdirs(parent))
  local made <close> = private.folder(check(fs.realpath(parent)))
  local whole = made.path .. "/" .. name
  local count, bytes = fill(run, source, whole)
  check(fs.sweep(whole)) -- what scrubbing could not remove
  local renamed, message, code = fs.rename(whole, folder)
  if not renamed then check_empty(folder) end -- another process was quicker
  check(renamed, message, code)
  return count, bytes
end


function command.run(given, words)
  if #words ~= 2 then
    errors.raise("usage", "a run and a folder are expected",
      { hint = "llmprof record latest FOLDER" })
  end
  local folder, run = words[2], artifacts.open(words[1], given.root)
  local source = check_run(run)
  check_empty(folder)
  local count, bytes = record(run, source, folder)
  out.write(("%s: %d files, %s bytes, and %s\n"):format(folder, count, text.count(bytes),
    layout.ABOUT))
  return 0
end


return command
