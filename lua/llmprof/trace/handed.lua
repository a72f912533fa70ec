-- Files and folders that somebody hands over: which of them are traces, one or one for each
-- rank, and what belongs to these, such as counters and the workload's own numbers.
local artifacts = require "llmprof.bundle.artifacts"
local errors = require "llmprof.process.errors"
local folders = require "llmprof.io.files"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local lists = require "llmprof.tables.lists"
local merged = require("llmprof.tables.keys").merged
local sqlite = require "llmprof.sqlite"
local trace = require "llmprof.trace"
local trace_file = require "llmprof.trace.file"

local handed = {}

-- Formats of timelines, those that tell most first: of several the first is taken.
local FORMATS = { "nsys", "spool", "torch", "xplane" }

handed.TITLES = { nsys = "an export of Nsight Systems", spool = "a recording of the collector",
  torch = "a trace of torch.profiler", xplane = "a profile of XLA" }

-- Documents beside a trace: their names, and what they are in a bundle.
local DOCUMENTS = {
  ["metrics.json"] = layout.workload.metrics, ["operators.json"] = layout.workload.operators,
  ["gpu_samples.json"] = layout.gpu_samples,
  ["before.json"] = layout.metrics_in(layout.workload.before),
  ["after.json"] = layout.metrics_in(layout.workload.after),
}

-- Ends of the names of texts that are no traces: a load generator's results or what it
-- printed, and logs.
local TEXTS = { log = true, txt = true, out = true, json = true, jsonl = true }

local Handed = {}
Handed.__index = Handed


local function base(path) return path:match "([^/]*)/*$" end


-- ---- one file ----

function Handed:leave_out(path, why)
  local start = path .. ": "
  if why:sub(1, #start) == start then why = why:sub(#start + 1) end
  self.left_out[#self.left_out + 1] = ("%s: left out: %s"):format(base(path), why)
end


-- The first of a kind is taken.
function Handed:take(target, path)
  local before = self.files[target]
  if not before then
    self.files[target] = path
  elseif before ~= path then
    self:leave_out(path, ("%s is used"):format(base(before)))
  end
end


-- Take a text that is known by what it holds; false of others, nil and why of one that cannot be
-- used.
function Handed:add_text(path)
  local kind, why
  if self.document_of then kind, why = self.document_of(path) end
  if kind == "log" then
    self:take(self.named[path] and layout.workload.server_log or layout.workload.log_found, path)
  elseif kind == "load" then
    self.loads[#self.loads + 1] = path
  end
  if why then self:leave_out(path, why) end
  return (kind or why) ~= nil
end


-- Of these an export of nsys has one.
local TABLES = { "StringIds", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME",
  "NVTX_EVENTS" }

-- Add what a file is; nil, why, a hint and a kind of error where it is nothing that is known.
function Handed:add(path)
  if self.seen[path] then return true end
  self.seen[path] = true
  if DOCUMENTS[base(path)] then
    self:take(DOCUMENTS[base(path)], path)
    return true
  elseif path:find "%.log$" and self:add_text(path) then
    return true
  elseif path:find "%.ncu%-rep$" then
    self:take(layout.ncu.report, path)
    return true
  elseif self.export and (path:find "%.nsys%-rep$" or path:find "%.qdrep$") then
    local made, result = errors.call(self.export, path) -- a report is taken for its export
    if made then return self:add(result) end
    if result.bug or result.kind == "interrupted" then error(result, 0) end
    return nil, result.message, result.hint, result.kind
  end
  local reader, message, code = trace.reader(path)
  if not reader then
    errors.raise_systems(message, code)
    if base(path) == layout.ABOUT then return true end -- about the capture that it lies in
    if self:add_text(path) then return true end
    return nil, message, trace.hint(path)
  end
  if reader == "nsys" then -- an SQLite file, which may be shorter than its header says
    local opened <close>, fault, why = sqlite.open(path)
    if why == "truncated" then
      return nil, fault, trace_file.AGAIN, "failed"
    elseif opened and not lists.any(TABLES, function(name) return opened:has(name) end) then
      return nil, path .. ": an SQLite file, but no Nsight Systems export", trace.hint(path)
    end
  elseif reader == "ncu" then
    self:take(layout.counters, path)
    return true
  end
  local list = reader == "folded" and self.stacks or self.by_format[reader] or {}
  if reader ~= "folded" then self.by_format[reader] = list end
  list[#list + 1] = path
  return true
end


-- ---- what lies together ----

-- What is in a bundle or a recorded capture, by its names there.
function Handed:add_captured(folder)
  for _, file in ipairs(layout.recorded) do
    for _, name in ipairs { file.name, file.target } do
      local path = folder .. "/" .. name
      if folders.is_file(path) and file.target == layout.timeline then
        self:add(path)
      elseif folders.is_file(path) and not self.seen[path] then
        self.seen[path] = true
        self:take(file.target, path)
      end
    end
  end
  for _, name in ipairs(layout.stacks_in(folder)) do
    self.stacks[#self.stacks + 1] = folder .. "/" .. name
  end
end


-- A file of a folder that no reader claims is none of ours, but for one that ends like a
-- trace that is.
function Handed:add_all(folder, names)
  local unclaimed, endings, there = {}, {}, lists.set(names)
  local function ending(name) return name:match "%.[^.]*$" or "" end
  for _, name in ipairs(names) do
    local path = folder .. "/" .. name
    local is_exported = there[name:gsub("%.nsys%-rep$", ".sqlite")] and name:find "%.nsys%-rep$"
    if folders.is_file(path) and not is_exported then
      local known, why, hint, kind = self:add(path)
      if kind then
        self:leave_out(path, why)
        self.hint = self.hint or hint
      elseif known then
        endings[ending(name)] = true
      else
        unclaimed[#unclaimed + 1] = { path = path, name = name, why = why }
      end
    end
  end
  for _, file in ipairs(unclaimed) do
    if endings[ending(file.name)] then self:leave_out(file.path, file.why) end
  end
end


-- The folder's files, or those of the folders in it where it has no trace itself.
function Handed:add_folder(folder)
  folder = folder:gsub("(.)/+$", "%1")
  if layout.find(folder, "manifest") then artifacts.check_links(folder) end
  self:add_captured(folder)
  if layout.find(folder, "manifest") then return end
  local names = folders.list(folder)
  self:add_all(folder, names)
  if next(self.by_format) then return end
  for _, name in ipairs(names) do
    local inside = folder .. "/" .. name
    if folders.is_folder(inside) then self:add_all(inside, folders.list(inside)) end
  end
end


-- What lies beside a file and is of the same program: documents by their names, and what is
-- called like it.
function Handed:add_beside(path)
  -- what a name begins with: "run" of "run.sqlite" and "run.pt.trace.json.gz"
  local function stem_of(name) return name:match "^[^.]+" or name end
  local folder, stem = path:match "^(.*/)" or "./", stem_of(base(path))
  for _, other in ipairs(folders.list(folder)) do
    local is_like = stem_of(other) == stem and (other:find "%.csv$" or other:find "%.ncu%-rep$")
    local is_new = folders.is_file(folder .. other) and not self.seen[folder .. other]
    if is_new and (DOCUMENTS[other] or is_like) then
      self:add(folder .. other)
    elseif is_new and TEXTS[other:match "%.(%w+)$"] then
      self:add_text(folder .. other)
    end
  end
end


-- ---- what is used ----

-- The path of a server's log and its place in a bundle: the one that was named goes before the
-- one that lies next to the trace; nil without.
function Handed:log()
  for _, target in ipairs { layout.workload.server_log, layout.workload.log_found } do
    if self.files[target] then return self.files[target], target end
  end
end


-- The paths of what is used besides traces.
function Handed:others()
  local list = lists.map(layout.recorded, function(file) return self.files[file.target] end)
  return lists.joined(list, self.stacks, { (self:log()) }, { self.load })
end


-- The traces of the first format; those of others are left out, but a trace of torch.profiler
-- still says which operators there were. Of results of load generators the one that is there,
-- those in JSON before what was printed: of several nobody knows which belongs to the trace.
function Handed:choose()
  for _, format in ipairs(FORMATS) do
    local list = self.by_format[format] or {}
    if #list > 0 and not self.format then
      self.format, self.traces = format, list
    elseif format == "torch" and #list == 1 and not self.files[layout.workload.operators] then
      self.files[layout.workload.operators] = list[1]
    else
      for _, path in ipairs(list) do
        self:leave_out(path, ("%s, next to %s"):format(handed.TITLES[format],
          handed.TITLES[self.format]))
      end
    end
  end
  table.sort(self.traces)
  local results, printed = lists.parted(self.loads, function(path) return path:find "%.jsonl?$" end)
  local list, has_metrics = #results > 0 and results or printed, self.files[layout.workload.metrics]
  if #list == 1 and not has_metrics then self.load = list[1] end
  local why = self.load and ("%s is used"):format(base(self.load))
    or has_metrics and "metrics.json is used"
    or ("%d results of load generators are there: name the one of this run"):format(#list)
  for _, path in ipairs(self.loads) do
    if path ~= self.load then self:leave_out(path, why) end
  end
end


local function new(given)
  return setmetatable(merged({ by_format = {}, files = {}, stacks = {}, left_out = {}, seen = {},
    loads = {}, traces = {}, named = {} }, given), Handed)
end


-- What a recorded capture has by its names there, as handed.look says it: it may be damaged.
function handed.captured(folder)
  local self = new { format = "nsys" }
  for _, file in ipairs(layout.recorded) do
    local path = folder .. "/" .. file.name
    self.files[file.target] = fs.stat(path) and path or nil
  end
  for _, name in ipairs(layout.stacks_in(folder)) do
    self.stacks[#self.stacks + 1] = folder .. "/" .. name
  end
  self.timeline, self.files[layout.timeline] = self.files[layout.timeline], nil
  self.traces = lists.map(folders.list(folder), function(name) -- which are sorted
    return layout.is_rank(name) and folder .. "/" .. name or nil
  end)
  if #self.traces == 0 then self.traces = { self.timeline } end
  return self
end


-- What words, paths of files and folders, stand for: { traces (paths, sorted, all of one
-- format), format ("nsys", "spool", "torch" or "xplane"), files (path by its place in a bundle:
-- counters, documents, a server's log, named or found next to the trace), load (path of what a
-- load generator wrote; nil without), stacks (paths of collapsed stacks), left_out (a line for
-- each file that is not used, and why) }. export(path) gives the export of a report of nsys, nil:
-- none is made; document_of(path) tells what a text is (llmprof.analysis.serving.load), nil: none
-- is taken. Raises where there is no trace.
function handed.look(words, export, document_of)
  local self = new { export = export, document_of = document_of }
  local wrong, hint, kind
  for _, word in ipairs(words) do
    self.named[word] = true
    if folders.is_folder(word) then
      self:add_folder(word)
    else
      local known, message, instead, raised = self:add(word)
      if not known then
        self:leave_out(word, message)
        wrong, hint, kind = wrong or message, hint or instead, kind or raised
      end
    end
  end
  if #words == 1 and next(self.by_format) and folders.is_file(words[1]) then
    self:add_beside(words[1])
  end
  if not next(self.by_format) then
    if not wrong and self.stacks[1] then
      wrong = ("%s: collapsed stacks, which name no kernels"):format(self.stacks[1])
      hint = "give them next to a trace, or ask: llmprof -e 'cpu_samples' " .. self.stacks[1]
    end
    errors.raise(kind or "usage", wrong or self.left_out[1]
      or ("%s: no trace in it"):format(words[1] or ""), { hint = hint or self.hint
      or "llmprof reads exports of nsys, recordings of llmprof collect, traces of torch.profiler "
      .. "and profiles of XLA (.xplane.pb)" })
  end
  self:choose()
  return self
end


return handed
