-- What a run would do: its steps, each with the commands it starts. Nothing is
-- run and nothing is written; what only the run knows stands in <angle
-- brackets>.
local captures = require "llmprof.run.capture"
local command_line = require "llmprof.base.command_line"
local pipeline = require "llmprof.run.pipeline"
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


-- The commands of each step, as far as they are known before anything ran: step
-- name -> list of argv. made: the recipe; cfg: the composed values. Raises what
-- cannot work.
function dry_run.commands(made, cfg)
  local source = captures.of(cfg)
  if source.check then source.check(cfg) end
  return source.preview { recipe = made, cfg = cfg, state = state_on_paper(cfg),
    run = setmetatable({ dir = "<run>" }, { __index = paper }) }
end


-- The same as text for the terminal.
function dry_run.text(made, cfg)
  local commands = dry_run.commands(made, cfg)
  local out = { ("%s, capture=%s; nothing is run\n"):format(made.name, cfg.capture) }
  for i, step in ipairs(pipeline.load()) do
    out[#out + 1] = ("%d. %-10s %s\n"):format(i, step.name, step.summary)
    for _, argv in ipairs(commands[step.name] or {}) do
      out[#out + 1] = ("%s$ %s\n"):format(INDENT, command_line.show(argv))
    end
  end
  return table.concat(out)
end


return dry_run
