-- Lines of what torch.compile generated, as lines of the program: torch, asked for it, tells of
-- each kernel that it generates the lines that it was made from, in a log of its own. A recording
-- gets them as a block, so that no reader needs the log.
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local spool = require "llmprof.spool"
local text = require "llmprof.text"

local compiled = {}


-- Where in the folder of spools the logs are.
local FOLDER = "torch"


-- Variables that ask torch for it, unless the user has set them: to keep stacks of kernels, and
-- where to log them.
function compiled.ask(folder, env)
  for name, value in pairs { INDUCTOR_PROVENANCE = "1", TORCH_TRACE = folder .. "/" .. FOLDER } do
    if not os.getenv(name) then env[name] = value end
  end
end


-- ---- the log ----

-- Entries of a log that are read here, by the word that begins each. vLLM dumps the pieces that
-- it makes of a graph, also those whose code comes from a cache.
local NAMES = { dynamo_output_graph = "graph", graph_dump = "graph", inductor_output_code = "code",
  inductor_provenance_tracking_kernel_stack_traces = "stacks" }


-- An entry of a log is a line that ends in JSON, and lines of payload that begin with a tab.
-- each(which, payload, what the JSON says of it).
local function read_log(path, each)
  local which, payload, said = nil, {}, nil
  local function done()
    if which then each(which, table.concat(payload, "\n"), said) end
    which, payload = nil, {}
  end
  local log <close> = errors.check(io.open(path))
  for line in log:lines() do
    local head = line:match "^%u%d+ .-%] ({.*})$"
    if line:byte() == 9 then
      if which then payload[#payload + 1] = line:sub(2) end
    elseif head then
      done()
      local word = head:match '^{"artifact": {"name": "([%w_]+)"' or head:match '^{"([%w_]+)"'
      which = NAMES[word]
      said = which and errors.check(json.decode(head))[word]
    end
  end
  done()
end


-- The module that a parameter of a graph is of, from the module that was compiled: torch names
-- it by the way there, l_self_modules_layers_modules_0_modules_mlp_parameters_weight_. Layers
-- that are alike share their code, so it is "*" of them.
local function module_of(call)
  for way in call:gmatch "%f[%w_][lL]_[%w_]-_modules_([%w_]+)" do
    way = way:match "^(.+)_parameters_" or way:match "^(.+)_buffers_"
    local path = way and ("." .. way:gsub("_modules_", ".")):gsub("%.%d+%f[.%z]", ".*")
    if path then return path:sub(2) end
  end
end


-- Of the names of a graph of torch the lines that they come from, { file, line, name }, and
-- the modules whose parameters they take.
local function places_of(graph)
  local places, modules, place = {}, {}, nil
  for line in graph:gmatch "[^\n]+" do
    local file, number, name = line:match "^%s*# File: (.-):(%d+) in ([^,]+)"
    place = file and { file = file, line = tonumber(number), name = name } or place
    local made, call = line:match "^%s+([%w_]+):? .-= ([^;]*)"
    if made then places[made], modules[made] = place, module_of(call) end
  end
  return places, modules
end


-- Of each line of generated code that launches a kernel what the comments above it say: key, of
-- its stacks (code from a cache may have none), and names, of the operations in it, a list.
local function launches_of(code)
  local launches, of, number = {}, {}, 0
  for line in code:gmatch "([^\n]*)\n?" do
    number = number + 1
    local names = line:match "^%s*# Topologically Sorted Source Nodes: %[(.-)%]"
    if names then
      of = { names = {} }
      for name in names:gmatch "[%w_]+" do table.insert(of.names, name) end
    elseif line:find("# [Provenance debug handles] ", 1, true) then
      of.key = line:match "%] (%S+)%s*$"
    elseif next(of) and not line:find "^%s*#" and not line:find "^%s*[%w_]*stream%d+ = " then
      launches[number], of = of, {}
    end
  end
  return launches
end


-- What is known of the last operation of a kernel that has it; nil where none has.
local function last_of(names, known)
  for i = #names, 1, -1 do
    if known[names[i]] then return known[names[i]] end
  end
end


-- Which stack is that of a kernel: of the last operation that torch fused in it, if that is
-- known; its lines as Python prints them, the outermost first: { file, line, name } of each.
-- Without stacks its line alone.
local function choose(stacks, place)
  local made
  for _, stack in ipairs(type(stacks) == "table" and stacks or {}) do
    local list = {}
    for file, line, name in stack:gmatch 'File "([^"\n]+)", line (%d+), in ([^\n]+)' do
      list[#list + 1] = { file = file, line = tonumber(line), name = name }
    end
    made = #list > 0 and list or made
    local inner = made and made[#made]
    if inner and place and place.file == inner.file and place.line == inner.line then break end
  end
  return made or place and { place }
end


-- The lines of one log that kernels were launched from, with those that they were made of.
local function take_log(path, list)
  local places, modules, launches, file = {}, {}, {}, nil
  local function take(stacks)
    for number, of in pairs(file and launches or {}) do
      local names = of.names or {}
      local made = choose(of.key and stacks[of.key], last_of(names, places))
      if made then
        local inner = made[#made]
        made[#made] = { file = inner.file, line = inner.line, name = inner.name,
          module = last_of(names, modules) }
        made.file, made.line = file, number
        list[#list + 1] = made
      end
    end
    file = nil
  end
  read_log(path, function(which, payload, said)
    if which == "stacks" then
      -- torch's own words for no stacks are none, null or an empty object
      local stacks = payload ~= "" and errors.check(json.decode(payload))
      take(type(stacks) == "table" and stacks or {})
      return
    end
    take {}
    if which == "graph" then
      places, modules = places_of(payload)
    else
      file = type(said) == "table" and said.filename
      launches = launches_of(payload)
    end
  end)
  take {}
end


-- What goes behind a recording whose spools are in a folder, "" where nothing was compiled; and
-- why lines stay as they are, a sentence each.
function compiled.block(folder)
  local list, why, logs = {}, {}, folder .. "/" .. FOLDER
  local function try(what, ...)
    local ok, made = errors.call(...)
    if ok then return made end
    if made.bug or made.kind == "interrupted" then error(made, 0) end
    why[#why + 1] = ("lines that torch.compile generated are kept as they are: %s: %s"):format(what,
      text.clean(made.message))
  end
  local info = fs.lstat(logs)
  for _, name in ipairs(info and info.type == "directory" and files.list(logs) or {}) do
    local path = logs .. "/" .. name
    local file = fs.lstat(path) -- opening a named pipe would wait
    if file and file.type == "file" then try("torch's log", take_log, path, list) end
  end
  local block = #list > 0
    and try("their block", function() return errors.check(spool.generated(list)) end)
  return block or "", why
end


return compiled
