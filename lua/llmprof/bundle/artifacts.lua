-- The run directory: its name, its files, what is known about how it was made.
--
-- Files are written whole or not at all. manifest.json is rewritten after every
-- step, so that a run that dies says how far it came.
local process = require "llmprof.process.child"
local clock = require "llmprof.io.clock"
local document = require "llmprof.io.document"
local errors = require "llmprof.process.errors"
local folders = require "llmprof.io.files"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local private = require "llmprof.bundle.private"
local process_pool = require "llmprof.process.pool"
local version = require "llmprof.version"

local artifacts = {}

local Run = {}
Run.__index = Run

local MANIFEST = layout.manifest


local check = errors.check


-- ---- making one ----

-- What to do where a folder is somebody else's, as in a checkout that several share.
local OTHERS = "where it is another user's, keep your runs elsewhere: run.root=DIR, for good in "
  .. "$XDG_CONFIG_HOME/llmprof/config.yaml"

-- What writing a file or folder of the bundle gave; raises where it failed.
local function written(given, message, code)
  return given or errors.raise("failed", message, { hint = code == "denied" and OTHERS
    or "choose another folder with out=DIR, or free some space" })
end


local function mkdirs(path) written(fs.mkdirs(path)) end


-- Remove what a process that is gone left half-written in the folder of a run, as far as
-- that can be.
local function sweep(dir)
  fs.sweep(dir)
  for _, folder in ipairs(layout.folders) do
    local inside = fs.beneath(dir, folder) -- nil for a link
    if inside then fs.sweep(inside) end
  end
end


-- Is a folder one that a run began and left before it wrote its manifest: nothing in it
-- but empty folders of a bundle, and what was half-written?
local function is_blank(dir)
  sweep(dir)
  return not lists.any(fs.list(dir) or { "?" }, function(name)
    local folder = lists.has(layout.folders, name) and fs.beneath(dir, name)
    local inside = folder and fs.list(folder)
    return not inside or #inside > 0
  end)
end


-- Hold a folder against other processes until this one ends; nil where the file system has no
-- locks. What one that was killed left half-written there goes. hint: where others work in it.
local function hold(dir, hint, what)
  local lock, message, code = fs.lock(dir)
  if lock then
    sweep(dir)
    return lock
  elseif code == "unsupported" then
    return nil
  elseif code == "busy" then
    errors.raise("failed", what and dir .. what or message, { hint = hint })
  end
  errors.check_as("failed", nil, message, code)
end


local function hold_run(dir)
  return hold(dir, "wait until it has ended", ": another llmprof works on this run")
end


-- Hold a folder of runs that one command writes, which two at once would spoil.
function artifacts.hold_folder(folder)
  mkdirs(folder)
  return hold(folder, "wait until it has ended, or choose another folder")
end


-- A fresh folder below root. A run id that was asked for and is taken is an
-- error; one made from the time gets a number.
local function fresh_folder(root, wanted, recipe_name)
  if root == "" then errors.raise("usage", "run.root: an empty value") end
  if wanted and (not wanted:find "^[%w_][%w_.-]*$" or wanted == "latest") then
    errors.raise("usage", ("run.id=%s: this cannot name a run"):format(wanted),
      { hint = "letters, digits, '_', '.' and '-' can, and it begins with a letter or digit" })
  end
  mkdirs(root)
  if wanted then
    local dir = root .. "/" .. wanted
    local made, message = fs.mkdir(dir)
    if made or is_blank(dir) then return wanted end
    if not fs.stat(dir) then errors.raise("failed", message) end
    errors.raise("usage", ("run id '%s' is taken: %s exists"):format(wanted, dir),
      { hint = "choose another run.id, or continue it: --resume " .. wanted })
  end
  local stem = clock.utc "%Y%m%d-%H%M%S" .. "-" .. recipe_name
  for attempt = 1, 100 do
    local id = attempt == 1 and stem or ("%s-%d"):format(stem, attempt)
    local made, message, code = fs.mkdir(root .. "/" .. id)
    if made then return id end
    if not fs.stat(root .. "/" .. id) then written(made, message, code) end
  end
  errors.raise("failed", root .. ": no free run id")
end


-- Raises unless a folder is empty, or has a bundle that can only be made as a whole and was left
-- unfinished.
local function check_empty(given)
  local out = given.out
  local entries = fs.list(out)
  if not entries or #entries == 0 or is_blank(out) then return end
  local manifest = given.whole
    and errors.unless_systems(document.read(out .. "/" .. MANIFEST, "manifest"))
  if manifest and manifest.recipe == given.recipe and manifest.status == "running" then return end
  local is_run = fs.stat(out .. "/" .. MANIFEST) and not given.whole
  errors.raise("usage", ("out=%s: the folder is not empty"):format(out), { hint = is_run
    and "choose another, or continue it with " .. process.shown { "--resume", out }
    or "choose another" })
end


-- A new run. given: out (folder) or root and id; recipe (name); whole: it is made at once,
-- so that one which was broken off begins anew. Its root_is_new when it is the first that
-- is kept there.
function artifacts.create(given)
  local id, dir
  local root_is_new = not given.out and not fs.stat(given.root)
  if given.out then
    check_empty(given)
    mkdirs(given.out)
    dir, id = given.out, given.id or given.out:match "([^/]+)/*$"
  else
    id = fresh_folder(given.root, given.id, given.recipe)
    dir = given.root .. "/" .. id
  end
  local run = setmetatable({ id = id, dir = dir, root = not given.out and given.root or nil,
    root_is_new = root_is_new, lock = hold_run(dir), command = given.command }, Run)
  for _, folder in ipairs(layout.folders) do mkdirs(run:path(folder)) end
  run.manifest = {
    schema_version = 1,
    llmprof = version.version,
    run_id = id,
    recipe = given.recipe,
    recipe_file = given.recipe_file,
    command = given.command,
    started = clock.timestamp(),
    status = "running",
    steps = json.list {},
  }
  run:save()
  return run
end


-- ---- finding one ----

local function read_manifest(dir) return document.read(dir .. "/" .. MANIFEST, "manifest") end


-- The manifest of a bundle that has one.
function artifacts.manifest(dir)
  local manifest, message = read_manifest(dir)
  if manifest then return manifest end
  errors.raise("failed", message, { hint = "if it is no run, remove or rename the folder" })
end


-- Raise when the folder of a run, or a recorded capture, has links in place of its files.
function artifacts.check_links(dir)
  local astray, code = layout.astray(dir)
  if astray then
    errors.raise_systems(astray, code)
    errors.raise("failed", astray, { hint = "put what it points to in its place, if it is yours" })
  end
end


-- A run by its id, by its folder, or "latest", which is resolved, so that the run keeps its name
-- when another becomes the latest.
function artifacts.open(name, root)
  local dir = lists.filtered({ name, root .. "/" .. name }, function(folder)
    return fs.stat(folder .. "/" .. MANIFEST)
  end)[1]
  if not dir then
    local is_file = (fs.stat(name) or {}).type == "file"
    errors.raise("usage", ("no run '%s' in %s"):format(name, root),
      { hint = is_file and "a trace? llmprof report makes a run of it"
        or "llmprof ls lists the runs" })
  end
  artifacts.check_links(dir)
  local manifest = artifacts.manifest(dir)
  local above, last = check(fs.realpath(dir)):match "^(.*)/([^/]+)$"
  local run = setmetatable({ dir = dir, manifest = manifest }, Run)
  if above == fs.realpath(root) then
    run.id, run.dir, run.root = last, root .. "/" .. last, root
    return run
  end
  run.id = manifest.run_id -- what it calls itself: anybody may have written it
  if run.id == "" or run.id == "." or run.id == ".." or run.id:find "[/%c]" then
    errors.raise("failed", ("%s/%s: run_id: '%s' cannot name a run"):format(dir, MANIFEST, run.id))
  end
  return run
end


-- Where a run began and ended before it wrote its manifest, so that there is nothing to
-- continue: its folder, and its id if it lies below root; nil without such.
function artifacts.begun(name, root)
  for _, dir in ipairs { name, root .. "/" .. name } do
    if fs.stat(dir) and not fs.stat(dir .. "/" .. MANIFEST) and is_blank(dir) then
      return dir, dir ~= name and name or nil
    end
  end
  return nil
end


-- Is a folder there, and no link to one?
local function is_folder_itself(dir)
  local info = fs.lstat(dir)
  return info ~= nil and info.type == "directory"
end


-- All runs below a root, oldest first: { id, dir, manifest or message and code }.
function artifacts.list(root)
  local runs = lists.map(folders.list(root, OTHERS), function(name)
    local dir = root .. "/" .. name
    local said = fs.stat(dir .. "/" .. MANIFEST)
    if not is_folder_itself(dir) or not said or said.type == "directory" then return nil end
    local manifest, message, code = nil, layout.astray(dir)
    if not message then manifest, message, code = read_manifest(dir) end
    return { id = name, dir = dir, manifest = manifest, message = message, code = code }
  end)
  return lists.sort(runs, function(run) return run.manifest and run.manifest.started or "" end,
    "id")
end


-- May the folder of a run be removed: does no process work on it?
function artifacts.is_idle(dir)
  local lock, message, code = fs.lock(dir)
  if lock then lock:close() end
  errors.raise_systems(message, code)
  return lock ~= nil or code == "unsupported"
end


-- Folders below a root in which a run began and ended before it wrote its manifest.
function artifacts.orphans(root)
  return lists.map(folders.list(root), function(name)
    local dir = root .. "/" .. name
    return is_folder_itself(dir) and fs.stat(dir .. "/" .. layout.nsys.folder)
      and artifacts.is_idle(dir) and is_blank(dir) and dir or nil
  end)
end


-- Remove the folder of a run. It goes out of sight first, so that one whose removal is cut
-- short is not half a run; the next command removes the rest. Another process may be
-- quicker.
function artifacts.remove(dir)
  local parent, message, code = fs.realpath(dir .. "/..")
  if code == "notfound" then return end
  local away <close> = private.folder(check(parent, message, code))
  local gone = away.path .. "/run"
  local removed, why, kind = fs.remove_tree(fs.rename(dir, gone) and gone or dir)
  if kind ~= "notfound" then check(removed, why, kind) end
end


-- ---- its files ----

-- The path of a file of the bundle.
function Run:path(name) return self.dir .. "/" .. name end


-- The same for a program that may run in another folder.
function Run:absolute(name) return check(fs.realpath(self.dir)) .. "/" .. name end


-- Files are written one after the other and waited for together, by Run:settle, unless
-- `write` is fs.write. It may be a function that takes other contents.
function Run:write(name, contents, write)
  written((write or fs.write_soon)(self:path(name), contents))
  return name
end


-- Wait until all that was written is on the disk.
function Run:settle() written(fs.settle(self.dir)) end


-- A file of the bundle that grows a line at a time, each as a whole: line(text), close().
-- It is emptied first. Unlike others it is seen while it is written.
function Run:open_log(name)
  local path = self:path(name)
  fs.remove(path) -- a link is not followed
  local file = written(io.open(path, "w"))
  local function check_log(ok, why) written(ok, ("%s: %s"):format(path, why)) end
  return {
    line = function(_, line) check_log(file:write(line, "\n")) end,
    close = function() check_log(file:close()) end,
  }
end


-- An iterator over the lines of a file of the bundle; over none when it is not there.
function Run:lines(name)
  if not self:has(name) then return function() return nil end end
  return check(io.open(self:path(name))):lines()
end


-- Copy a file from outside into a folder of the bundle.
function Run:take(from, name)
  mkdirs(self:path(name:match "^(.*)/"))
  written(fs.copy_soon(from, self:path(name)))
end


-- Files that are copied while this process goes on are this long. Tests change this.
artifacts.LONG = 64 << 20


-- Begin to copy one, while none is; a file that is not long is there at once.
function Run:begin_taking(from, name)
  local info = fs.stat(from)
  if self.taking or not info or info.size < artifacts.LONG or process_pool.threads() < 2 then
    return self:take(from, name)
  end
  local pool = process_pool.begin({ { function()
    self:take(from, name)
    return true
  end } }, 0)
  self.taking = { from = from, name = name, info = info, pool = pool }
end


-- The path that a file of the bundle can be read from before it is whole.
function Run:source(name)
  local taking = self.taking
  return taking and taking.name == name and taking.from or self:path(name)
end


-- Wait until it is whole. Of a file that changed meanwhile the copy may not be what was read.
function Run:end_taking()
  local taking = self.taking
  self.taking = nil
  if not taking then return end
  if not taking.pool:take(1) then self:take(taking.from, taking.name) end
  local before, now = taking.info, fs.stat(taking.from)
  if now and (now.size ~= before.size or now.mtime_ns ~= before.mtime_ns) then
    errors.raise("failed", taking.from .. ": it changed while it was read",
      { hint = "try again once nothing writes to it" })
  end
end


-- A JSON file that a schema of docs/ describes, by its name there; a value that does
-- not fit raises.
function Run:write_document(name, schema, value)
  self:write(name, document.encode(schema, value))
end


function Run:has(name)
  local info = fs.lstat(self:path(name))
  return info ~= nil and info.type == "file"
end


-- Every file below a folder, sorted: { name, bytes }.
function artifacts.files(dir)
  local found = {}
  local function visit(prefix)
    for _, name in ipairs(folders.list(dir .. "/" .. prefix)) do
      local relative = prefix == "" and name or prefix .. "/" .. name
      local info = fs.lstat(dir .. "/" .. relative)
      if info and info.type == "directory" then
        visit(relative)
      elseif info then
        found[#found + 1] = { name = relative, bytes = info.size }
      end
    end
  end
  visit ""
  return found
end


-- ---- its manifest ----

function Run:save(write) self:write(MANIFEST, document.encode("manifest", self.manifest), write) end


-- The files of a list that are there, with their sizes.
function Run:sizes(names)
  return json.list(lists.map(names or {}, function(name)
    local info = fs.stat(self:path(name))
    return info and { file = name, bytes = info.size }
  end))
end


-- Note in the manifest that a file holds what is not to be handed on.
function Run:keep_private(name)
  local list = self.manifest.private or json.list {}
  if lists.has(list, name) then return end
  list[#list + 1] = name
  self.manifest.private = list
  self:save()
end


-- A step that took as long is not to be lost with the machine's power; seconds.
local LONG = 10


-- Note a step in the manifest; a step of the same name is replaced. order: names of steps, where
-- they need not be noted in their order: it goes before the first that comes later there.
function Run:record(step, order)
  if (step.seconds or 0) >= LONG then self:settle() end
  local steps, number, place = self.manifest.steps, {}, nil
  for i, known in ipairs(order or {}) do number[known] = i end
  for i, known in ipairs(steps) do
    local is_later = number[step.name] and (number[known.name] or 0) > number[step.name]
    if known.name == step.name then
      table.remove(steps, i)
      place = i
      break
    end
    place = place or is_later and i or nil
  end
  table.insert(steps, place or #steps + 1, step)
  self:save()
end


function Run:recorded(name) return lists.find(self.manifest.steps, "name", name) end


-- How to continue it: with other settings than its own it starts over. The command is
-- repeated where this process was given it: anybody may have written the manifest.
function Run:continuation()
  local name = self.root and self.id or self.dir
  if self.command then
    return ("continue it: %s %s"):format(process.shown(self.command),
      process.shown { "--resume", name })
  end
  return ("continue it with the command in %s and %s"):format(self:path(MANIFEST),
    process.shown { "--resume", name })
end


-- A run that is continued, held until this process ends.
function Run:reopen()
  self.lock = self.lock or hold_run(self.dir)
  self.manifest.status, self.manifest.message, self.manifest.ended = "running", nil, nil
  self:save()
end


-- What is not in the bundle though it should be: a line for each thing; none: it is
-- whole.
function Run:set_partial(lines)
  self.manifest.partial = #lines > 0 and json.list(lines) or nil
  self:save()
end


-- One more of them, once.
function Run:add_partial(line)
  local lines = self.manifest.partial or {}
  if not lists.has(lines, line) then self:set_partial(lists.joined(lines, { line })) end
end


-- The end of the run: status "done", "failed" or "interrupted".
function Run:finish(status, message)
  self.manifest.status, self.manifest.message = status, message
  self.manifest.ended = clock.timestamp()
  self:settle()
  self:save(fs.write)
  if self.lock then self.lock:close() end
  self.lock = nil
end


-- Let <root>/latest point at this run.
function Run:publish()
  if not self.root then return end
  local linked, message = private.link(self.id, self.root .. "/latest")
  if not linked then
    errors.raise("failed", message, { hint = "the run itself is in " .. self.dir })
  end
end


return artifacts
