-- llmprof clean: remove old runs.
local lazy = require "llmprof.io.lazy"
local artifacts = lazy "llmprof.bundle.artifacts"
local trace_file = lazy "llmprof.trace.file"
local lists = require "llmprof.tables.lists"
local nsys = lazy "llmprof.nvidia.nsys"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local out = require "llmprof.io.output"
local reports = lazy "llmprof.run.reports"
local shipped = require "llmprof.io.files"
local sys = require "llmprof.sys"
local text = require "llmprof.text"
local user = require "llmprof.recipe.user"

local command = {
  name = "clean",
  usage = "clean [OPTION...] [RUN_ID | latest]...",
  details = [[
Removes the runs that are named. Without a name it keeps the newest runs, the latest,
runs that a process works on, baselines, and whatever else is there: only folders
whose manifest.json llmprof wrote are removed, and those in which a run was killed before
it wrote anything. With --cache it removes what was kept of traces that were read
(columns, reports and exports) and recorded captures that were unpacked, which the next
command that needs them makes again.]],
  options = {
    { "cache", help = "remove what was kept of traces, no runs" },
    { "dry-run", help = "show what would be removed, remove nothing" },
    { "keep", arg = "N", type = "integer", min = 0, help = "runs to keep (10)" },
    user.root_option,
    { "yes", short = "y", help = "do not ask" },
  },
  completes = "run",
}

local KEPT = 10


-- The runs whose folders llmprof made, oldest first. One that could not be looked at may be
-- among them, or be the reason to remove another.
local function own_runs(root)
  return lists.filtered(artifacts.list(root), function(run)
    errors.raise_systems(run.message, run.code)
    local manifest = run.manifest
    return manifest and manifest.schema_version == 1 and manifest.run_id == run.id
  end)
end


local function size_of(dir) return lists.sum(artifacts.files(dir), "bytes") end


local function is_worked_on(run)
  return run.manifest.status == "running" and not artifacts.is_idle(run.dir)
end


-- The runs to remove where none is named, oldest first.
local function superfluous(root, keep)
  local runs, list = own_runs(root), {}
  local latest = fs.readlink(root .. "/latest")
  for i = 1, #runs - keep do
    if not is_worked_on(runs[i]) and runs[i].id ~= latest then list[#list + 1] = runs[i] end
  end
  for _, dir in ipairs(artifacts.orphans(root)) do list[#list + 1] = { dir = dir } end
  return list
end


-- The runs of these names, each once.
local function named(root, words)
  local own, list = own_runs(root), {}
  for _, word in ipairs(words) do
    local id = word == "latest" and fs.readlink(root .. "/latest") or word
    local run = lists.find(own, "id", id)
    if not run then
      errors.raise("usage", ("no run '%s' of llmprof's in %s"):format(word, root),
        { hint = "llmprof ls lists the runs" })
    elseif is_worked_on(run) then
      errors.raise("failed", ("%s: a process works on it"):format(run.dir),
        { hint = "end that process first" })
    end
    if not lists.has(list, run) then list[#list + 1] = run end
  end
  return list
end


-- Is that much to be removed? Says what happens otherwise.
local function is_meant(given, amount)
  if given["dry-run"] then
    out.write("would remove ", amount, "\n")
    return false
  elseif given.yes then
    return true
  elseif not sys.isatty(0) then
    errors.raise("usage", "there is no terminal to ask on",
      { hint = "llmprof clean --yes does not ask" })
  end
  out.write("remove ", amount, "? [y/N] ")
  out.flush()
  local answer = io.stdin:read "l"
  local is_yes = answer ~= nil and answer:lower():find "^%s*y" ~= nil
  if not is_yes then out.write("nothing was removed\n") end
  return is_yes
end


-- Remove a run, and the link to it where it is the latest.
local function remove(root, run)
  artifacts.remove(run.dir)
  local link = root .. "/latest"
  if not run.id or fs.readlink(link) ~= run.id then return end
  local removed, message, code = fs.remove(link)
  if code ~= "notfound" then errors.check(removed, message, code) end
end


-- What was kept of traces: list of files, { path, bytes }, and folders, { dir, bytes }.
local function kept(given, words)
  if #words > 0 or given.keep then
    errors.raise("usage", "--cache is for all that was kept of traces, not for runs")
  end
  local folders = lists.map(lists.joined(reports.kept(), shipped.unpacked()), function(dir)
    return { dir = dir, bytes = size_of(dir) }
  end)
  return lists.joined(trace_file.cached(), nsys.kept_exports(), folders)
end


function command.run(given, words)
  if not given.cache and not given["dry-run"] then errors.check(fs.sweep(given.root)) end
  if given.keep and #words > 0 and not given.cache then
    errors.raise("usage", "--keep is for runs that are not named")
  end
  local list = given.cache and kept(given, words) or #words > 0 and named(given.root, words)
    or superfluous(given.root, given.keep or KEPT)
  if #list == 0 then
    out.write("nothing to remove\n")
    return 0
  end
  for _, run in ipairs(given.cache and {} or list) do
    run.bytes = size_of(run.dir)
    out.write(text.clean(run.dir), "  ", text.bytes(run.bytes), "\n")
  end
  local amount = ("%d %s%s, %s"):format(#list, given.cache and "file" or "run",
    #list == 1 and "" or "s", text.bytes(lists.sum(list, "bytes")))
  if not is_meant(given, amount) then return 0 end
  for _, one in ipairs(list) do
    if one.dir then remove(given.root, one) else errors.check(fs.remove(one.path)) end
  end
  out.write("removed ", amount, "\n")
  return 0
end


return command
