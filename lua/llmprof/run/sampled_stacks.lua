-- Collapsed stacks that samplers took beside the profiler: the files of `cpu_stacks` into
-- the bundle, and those of the bundle opened. A file that is no use costs its own figures
-- and the exit status, nothing else.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local stages = require "llmprof.analysis.stages.find"
local trace = require "llmprof.trace"

local sampled_stacks = {}


-- The stage and the file that a word of `cpu_stacks` names. A file that is there under
-- the whole word has "=" in its name.
local function parse(word)
  local stage, file = word:match "^([^=/]+)=(.+)$"
  if not stage or fs.stat(word) then return stages.WHOLE_RUN, word end
  return stage, file
end


local function refuse(ctx, message, hint)
  ctx.fail_later("usage", message, { hint = hint })
  ctx.lack("sampled stacks", message, hint)
end


local HOW = "py-spy record -f raw, or perf script through a stackcollapse script, writes such a "
  .. "file; llmprof help capture says how"


-- The stacks of a file, or nil and why: a pipe could keep the run waiting for ever.
local function open(path)
  local info = fs.stat(path)
  if info and info.type ~= "file" then return nil, path .. ": not a regular file" end
  local reader, message, code = trace.reader(path)
  if reader == "folded" then return trace.open(path) end
  return nil, message or path .. ": no collapsed stacks", code
end


-- The same, or nil: it was said why.
local function read(ctx, path)
  local made, message = errors.unless_systems(open(path))
  if not made then refuse(ctx, message, HOW) end
  return made
end


-- Files that are named on the way of the run go into the bundle.
local function take_named(ctx)
  local taken = {}
  for _, word in ipairs(ctx.cfg.cpu_stacks or {}) do
    local stage, file = parse(word)
    local made = read(ctx, file)
    if made and taken[stage] then
      refuse(ctx, ("cpu_stacks: two files of %s: %s and %s"):format(stage, taken[stage], file),
        "one file may follow the other in a third: cat A B > C")
    elseif made then
      made:close()
      taken[stage] = file
      ctx.run:take(file, layout.stacks_of(stage))
    end
  end
end


-- The stacks of the bundle: list of { stage, file, trace }.
function sampled_stacks.open(ctx)
  local list = {}
  take_named(ctx)
  for _, name in ipairs(layout.stacks_in(ctx.run.dir)) do
    local made = read(ctx, errors.check(fs.beneath(ctx.run.dir, name)))
    list[#list + 1] = made and { stage = layout.stage_of_stacks(name), file = name, trace = made }
      or nil
  end
  return list
end


return sampled_stacks
