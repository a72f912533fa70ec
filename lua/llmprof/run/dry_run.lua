-- What a run would do: its steps, each with the commands it starts. Nothing is
-- run and nothing is written. With a timeline that is there already, recorded or of
-- the run that is resumed, the kernels are selected from it, so that ncu's command
-- is whole; what only the run knows is said in words.
local captures = require "llmprof.run.capture"
local command_line = require "llmprof.process.command_line"
local pipeline = require "llmprof.run.pipeline"
local plan = require "llmprof.run.steps.plan"
local select_step = require "llmprof.run.steps.select"
local stages = require "llmprof.analysis.stages.find"
local trace_file = require "llmprof.trace.file"
local vendors = require "llmprof.nvidia.vendors"

local dry_run = {}

local INDENT = (" "):rep(14)

-- A bundle that nothing is written into.
local paper = {}


function paper:path(name) return self.dir .. "/" .. name end


paper.absolute = paper.path


-- What the steps before a capture would leave: no tool is looked for.
local function state_on_paper(cfg)
  local found = {}
  for _, vendor in ipairs(vendors) do
    found[vendor.name] = { name = vendor.name, path = cfg.tools[vendor.name] or vendor.name }
  end
  return { tools = found }
end


-- What is selected from a timeline, into the state; in words.
local function select_from(ctx, path)
  local state = ctx.state
  state.trace = trace_file.open(path)
  state.found = stages.find(state.trace, ctx.recipe.stages, ctx.cfg.repeats.skip_first)
  return select_step.restore(ctx)
end


-- What each step starts, as far as it is known before anything ran: step name -> list
-- of argv, and of texts about them. made: the recipe; cfg: the composed values; kept:
-- the timeline of a run that is resumed (optional). Raises what cannot work.
function dry_run.commands(made, cfg, kept)
  local source = captures.of(cfg)
  for _, vendor in ipairs(vendors) do vendor.check(cfg[vendor.name]) end
  local ctx = { recipe = made, cfg = cfg, state = state_on_paper(cfg),
    run = setmetatable({ dir = "<run>" }, { __index = paper }) }
  kept = kept or source.kept and source.kept(ctx)
  local selected = kept and select_from(ctx, kept)
  local commands = source.preview(ctx)
  if selected then
    commands.select = commands.select or {}
    table.insert(commands.select, 1, selected)
  end
  for _, doubt in ipairs(plan.doubts(made.stages, cfg)) do
    commands.plan = commands.plan or {}
    table.insert(commands.plan, doubt.text)
  end
  return commands
end


local function shown(entry)
  return type(entry) == "table" and "$ " .. command_line.show(entry) or "# " .. entry
end


-- The same as text for the terminal.
function dry_run.text(made, cfg, kept)
  local commands = dry_run.commands(made, cfg, kept)
  local out = { ("%s, capture=%s; nothing is run\n"):format(made.name, cfg.capture) }
  for i, step in ipairs(pipeline.of(cfg)) do
    out[#out + 1] = ("%d. %-10s %s\n"):format(i, step.name, step.summary)
    for _, entry in ipairs(commands[step.name] or {}) do
      out[#out + 1] = ("%s%s\n"):format(INDENT, shown(entry))
    end
  end
  return table.concat(out)
end


return dry_run
