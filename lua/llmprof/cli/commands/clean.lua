-- llmprof clean: remove old runs.
local lazy = require "llmprof.base.lazy"
local artifacts = lazy "llmprof.bundle.artifacts"
local defaults = require "llmprof.recipe.defaults"
local errors = require "llmprof.base.errors"
local fs = require "llmprof.fs"
local out = require "llmprof.base.out"
local sys = require "llmprof.sys"
local text = require "llmprof.text"

local command = {
  name = "clean",
  summary = "remove old runs, after asking",
  usage = "clean [OPTION...]",
  details = [[
Keeps the newest runs, the latest, runs that a process works on, baselines, and whatever
else lies beside them: only folders whose manifest.json llmprof wrote are removed, and
those in which a run was killed before it wrote anything.]],
  options = {
    { "keep", arg = "N", type = "integer", default = 10, help = "runs to keep" },
    { "root", arg = "DIR", default = defaults["run.root"][2], help = "where runs are kept" },
    { "yes", short = "y", help = "do not ask" },
  },
  completes = {},
}


-- The runs whose folders llmprof made, oldest first.
local function own_runs(root)
  local list = {}
  for _, run in ipairs(artifacts.list(root)) do
    local manifest = run.manifest
    if manifest and manifest.schema_version == 1 and manifest.run_id == run.id then
      list[#list + 1] = run
    end
  end
  return list
end


local function size_of(run)
  local bytes = 0
  for _, file in ipairs(artifacts.files(run.dir)) do bytes = bytes + file.bytes end
  return bytes
end


-- The runs to remove, oldest first, and their size in bytes.
local function choose(root, keep)
  errors.check("failed", fs.sweep(root))
  local runs, list, bytes = own_runs(root), {}, 0
  local latest = fs.readlink(root .. "/latest")
  for i = 1, #runs - keep do
    local working = runs[i].manifest.status == "running" and not artifacts.is_idle(runs[i].dir)
    if not working and runs[i].id ~= latest then
      list[#list + 1] = runs[i]
      bytes = bytes + size_of(runs[i])
    end
  end
  for _, dir in ipairs(artifacts.orphans(root)) do list[#list + 1] = { dir = dir } end
  return list, bytes
end


local function confirm(what)
  if not sys.isatty(0) then
    errors.raise("usage", "nobody is there to ask", { hint = "llmprof clean --yes does not ask" })
  end
  out.write(what, "? [y/N] ")
  out.flush()
  local answer = io.stdin:read "l"
  return answer ~= nil and answer:lower():find "^%s*y" ~= nil
end


function command.run(given, words)
  if #words > 0 then
    errors.raise("usage", "clean takes no run", { hint = "llmprof clean --keep 10" })
  elseif given.keep < 0 then
    errors.raise("usage", "--keep: 0 or more")
  end
  local list, bytes = choose(given.root, given.keep)
  if #list == 0 then
    out.write("nothing to remove\n")
    return 0
  end
  for _, run in ipairs(list) do
    out.write(text.clean(run.dir), "  ", text.bytes(size_of(run)), "\n")
  end
  local amount = ("%d run%s, %s"):format(#list, #list == 1 and "" or "s", text.bytes(bytes))
  if not given.yes and not confirm("remove " .. amount) then
    out.write("nothing was removed\n")
    return 0
  end
  for _, run in ipairs(list) do errors.check("failed", fs.remove_tree(run.dir)) end
  out.write("removed ", amount, "\n")
  return 0
end


return command
