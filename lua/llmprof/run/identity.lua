-- Which model a run is of: what the configuration says, over it what the workload says
-- it ran. It stands in results.json, and in short in manifest.json and env.json.
local fs = require "llmprof.fs"
local gpu = require "llmprof.gpu"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local merged = require("llmprof.tables.keys").merged
local model = require "llmprof.model"
local sys = require "llmprof.sys"
local vendor_tools = require "llmprof.nvidia.tools"
local version = require "llmprof.version"

local identity = {}


-- ---- the model ----

-- given: cfg (the configuration's model table), metrics (metrics.json), workload (of
-- capture.json), arch (of llmprof.model); all but cfg may be nil. Everything that is
-- known: docs/results.schema.json, model.
function identity.full(given)
  local cfg, about, arch = given.cfg, given.workload, given.arch
  local said = merged({ name = cfg.name, variant = cfg.variant, dtype = cfg.dtype },
    given.metrics and given.metrics.model or {})
  local counted = said.parameters
  said.weights = about and about.weights or said.weights
  said.described = arch and { source = arch.source, parameters = model.parameters(arch),
    formats = arch.formats, layers = (arch.decoder or {}).num_hidden_layers,
    width = (arch.decoder or {}).hidden_size }
  -- as the workload counted them, else by the description
  local size = counted or said.described and said.described.parameters
  said.parameters = size and { total = size.total, active = size.active,
    decoder = counted and counted.decoder }
  return said
end


-- { name, variant, parameters = { total, active }, dtype, weights }, as far as known.
function identity.brief(full)
  local size = full.parameters
  return { name = full.name, variant = full.variant, dtype = full.dtype,
    weights = full.weights,
    parameters = size and { total = size.total, active = size.active } }
end


-- What is known before anything ran: identity.brief of the configuration.
function identity.planned(cfg)
  return identity.brief(identity.full { cfg = cfg.model,
    arch = model.description { cfg = cfg.model } })
end


-- Into manifest.json and env.json, once the workload has said what it ran.
function identity.keep(ctx, metrics)
  local state = ctx.state
  local arch = model.description { cfg = ctx.cfg.model, metrics = metrics, about = state.about,
    folder = state.folder }
  local said = identity.brief(identity.full { cfg = ctx.cfg.model, metrics = metrics,
    workload = state.about.workload, arch = arch })
  ctx.run.manifest.model = said
  state.environment.model = said
  ctx.run:write_document(layout.environment, "env", state.environment)
  ctx.outputs[#ctx.outputs + 1] = layout.environment
end


-- ---- the machine ----

-- The machine that llmprof runs on.
local function this_machine()
  local uname, cpu = sys.uname(), sys.cpu()
  -- does anything say that this is a container? Nothing proves that it is none
  local groups = fs.read "/proc/1/cgroup" or ""
  local is_container = lists.any({ "/.dockerenv", "/run/.containerenv", "/.singularity.d" },
      fs.access)
    or lists.any({ "container", "KUBERNETES_SERVICE_HOST" },
      function(name) return (os.getenv(name) or "") ~= "" end)
    or lists.any({ "docker", "kubepods", "containerd", "libpod", "lxc" },
      function(word) return groups:find(word, 1, true) end)
  return {
    kernel = ("%s %s"):format(uname.sysname, uname.release),
    machine = uname.machine,
    cpu = cpu.model, cores = cpu.cores, memory_bytes = cpu.memory,
    container = is_container,
    llmprof = version.version, compiler = version.compiler,
  }
end


-- What git prints of the repository that a folder lies in; nil without git or a repository.
local function git(folder, ...)
  local argv = { "git", "-C", folder, "-c", "core.fsmonitor=false", ... }
  local said, result = vendor_tools.capture(argv, { stderr = "/dev/null" })
  return said and result.ok and said or nil
end


-- The commit that a folder is of, and whether a file that it tracks differs from it; nil where
-- git knows of none.
function identity.commit(folder)
  local hash = (git(folder, "rev-parse", "--verify", "HEAD") or ""):match "^%x+"
  local changed = hash and git(folder, "status", "--porcelain", "--untracked-files=no")
  return hash, changed and changed ~= ""
end


-- The folder whose commit is that of a run: that of its recipe, of one that ships the one in
-- which llmprof was started.
function identity.code_folder(recipe)
  return recipe.path and (recipe.path:match "^(.*)/[^/]*$" or ".") or "."
end


-- This machine, for a capture made now. tools: by name, of llmprof.nvidia.tools; recipe: of
-- llmprof.recipe.
function identity.captured_here(tools, recipe)
  local devices, reason = gpu.list() -- what NVML does not say is absent
  for _, device in ipairs(devices) do
    if device.throttle then device.throttle = json.list(device.throttle) end
  end
  local captured = this_machine()
  captured.commit, captured.commit_changed = identity.commit(identity.code_folder(recipe))
  captured.gpus, captured.gpus_reason = json.list(devices), #devices == 0 and reason or nil
  if devices[1] then
    captured.driver, captured.cuda = devices[1].driver_version, devices[1].cuda_version
  end
  for name, tool in pairs(tools) do captured[name] = tool.version end
  return captured
end


-- What env.json holds. captured: the machine that was measured, or nil; model: of
-- llmprof.run.identity.
function identity.environment(captured, described)
  return { model = described, captured_on = captured, analysed_on = this_machine() }
end


return identity
