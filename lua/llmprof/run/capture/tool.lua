-- The program of a vendor, looked for when a run first needs it.
local errors = require "llmprof.process.errors"
local layout = require "llmprof.bundle.layout"
local tools = require "llmprof.nvidia.tools"

local tool = {}


-- env.json says what measured: a tool that is only found when a run is continued is
-- written down then.
local function note_version(ctx, found)
  local machine = ctx.state.environment and ctx.state.environment.captured_on
  if not machine or machine[found.name] == found.version then return end
  machine[found.name] = found.version
  ctx.run:write_document(layout.environment, "env", ctx.state.environment)
end


-- { name, path, version }; raises without it.
function tool.of(ctx, vendor)
  local known = ctx.state.tools[vendor.name]
  if known then return known end
  local found = tools.ensure(vendor, ctx.cfg)
  ctx.state.tools[vendor.name] = found
  note_version(ctx, found)
  return found
end


-- The same, or nil and what is missing.
function tool.try(ctx, vendor)
  local ok, found = pcall(tool.of, ctx, vendor)
  if ok then return found end
  if not errors.is(found) or found.kind ~= "tool" then error(found, 0) end
  return nil, found.message
end


return tool
