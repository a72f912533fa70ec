-- Reports of nsys (.nsys-rep) exported to SQLite: for a run, or into the cache for commands
-- that take a trace.
local command_line = require "llmprof.process.command_line"
local digest = require "llmprof.digest"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local nsys = require "llmprof.nvidia.nsys"
local private = require "llmprof.bundle.private"
local scrub = require "llmprof.scrub"
local tools = require "llmprof.nvidia.tools"
local folders = require "llmprof.io.files"

local exported = {}

-- Reports whose exports the cache keeps, and how long one may take: seconds.
local MOST_KEPT, PATIENCE = 10, 1800


function exported.is_report(path)
  return path:find "%.nsys%-rep$" ~= nil or path:find "%.qdrep$" ~= nil
end


-- Whether the export was made; what nsys said, or why it said nothing.
local function run_export(argv, target, options)
  if options.on_command then options.on_command(argv) end
  local output, result = tools.capture(argv, { timeout = options.timeout }, options.on_idle)
  local info = fs.stat(target)
  return output and info and info.size > 0, output or result
end


-- Why an nsys of this version could not export a report that another may have made, and what to
-- do: the last line that it said.
local function refusal(said, report, version)
  local last
  for line in said:gmatch "[^\n]+" do
    if line:find "%w" then last = line:match "^%s*(.-)%s*$" end
  end
  return ("nsys %s could not export %s%s"):format(version, report, last and ": " .. last or ""),
    ("a report opens in the nsys that made it or a newer one: "
      .. command_line.show { "nsys", "export", "--type=sqlite", report })
end


-- Export a report; raises what nsys says where it cannot. An nsys that refuses
-- --include-blobs is asked again without. path: of nsys; options: timeout (s), on_command
-- (gets each argv), on_idle, name (of the report in messages), version (of nsys, where another
-- may have made the report); all but the first may be nil.
-- Only its owner may read the export, which holds the environment of the workload.
function exported.make(path, report, target, options)
  local made, said = run_export(nsys.export_argv(path, report, target), target, options)
  local plain = not made and nsys.refuses_blobs(said)
  if plain then
    made, said = run_export(nsys.export_argv(path, report, target, true), target, options)
  end
  if not made and options.version then
    local message, hint = refusal(said, report, options.version)
    errors.raise("failed", message, { hint = hint })
  elseif not made then
    local by_hand = nsys.export_argv(path, report, "run.sqlite", plain)
    errors.raise("failed", ("nsys could not export %s"):format(options.name or report),
      { detail = said, hint = "try it by hand: " .. command_line.show(by_hand) })
  end
  errors.check(fs.chmod(target, private.FILE_MODE))
end


-- ---- in the cache ----

-- llmprof's folder for exports; nil without a home.
function exported.folder()
  local folder = folders.folder "cache"
  return folder and folder .. "/exports"
end


-- The exports that are kept: { path, bytes, mtime_ns }, the newest first.
function exported.files()
  local folder, list = exported.folder(), {}
  for _, name in ipairs(folder and folders.list(folder) or {}) do
    local info = fs.lstat(folder .. "/" .. name)
    if info and info.type == "file" and name:find "%.sqlite$" then
      list[#list + 1] = { path = folder .. "/" .. name, bytes = info.size,
        mtime_ns = info.mtime_ns }
    end
  end
  table.sort(list, function(a, b) return a.mtime_ns > b.mtime_ns end)
  return list
end


local function find_nsys(report)
  local found, tried = tools.find(nsys)
  if found then return found end
  return errors.raise("tool", ("%s: %s, which exports it"):format(report,
    tools.lack_text(nsys, tried)), { hint = "where there is one: "
      .. command_line.show { "nsys", "export", "--type=sqlite", report } })
end


local function name_of(report, info)
  local said = ("%s %d %d"):format(errors.check(fs.realpath(report)), info.size, info.mtime_ns)
  local stem = report:match "([^/]*)%.[^./]*$":gsub("[^%w_-]", "_")
  return ("%s-%s.sqlite"):format(stem, digest.base64(digest.sha256(said)):sub(1, 12)
    :gsub("[^%w]", "_"))
end


-- The export of a report, scrubbed, made now unless the cache has it. Raises where it
-- cannot be made: without nsys the error has the command to run where there is one.
function exported.of(report)
  local info = errors.check_as("usage", fs.stat(report))
  local folder = exported.folder()
  if not folder then
    errors.raise("usage", report .. ": there is no home to keep its export in",
      { hint = "export it first: " .. command_line.show { "nsys", "export", "--type=sqlite",
        report } })
  end
  local target = folder .. "/" .. name_of(report, info)
  if fs.stat(target) then return target end
  local found = find_nsys(report)
  errors.check(fs.mkdirs(folder))
  local kept = exported.files()
  for i = MOST_KEPT, #kept do errors.check(fs.remove(kept[i].path)) end
  local made <close> = private.folder(folder)
  local raw = made.path .. "/run.sqlite"
  exported.make(found.path, report, raw, { timeout = PATIENCE, version = found.version })
  errors.check(scrub.copy(raw, target))
  return target
end


return exported
