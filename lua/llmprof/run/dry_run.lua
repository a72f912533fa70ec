-- What a run would do: its steps, each with the commands it starts. Nothing is
-- run and nothing is written; what only the run knows stands in <angle
-- brackets>.
local command_line = require "llmprof.base.command_line"
local pipeline = require "llmprof.run.pipeline"

local dry_run = {}

local INDENT = (" "):rep(14)


-- Text for the terminal. made: the recipe; cfg: the composed values; capture:
-- where they would come from, of llmprof.capture.
function dry_run.text(made, cfg, capture)
  local commands = capture.preview(made, cfg)
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
