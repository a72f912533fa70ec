-- llmprof ranks FILE...: steps, ranks and collectives of many files as one.
local folders = require "llmprof.io.files"
local lazy = require "llmprof.io.lazy"
local advice = lazy "llmprof.advice"
local artifacts = lazy "llmprof.bundle.artifacts"
local rank_workers = lazy "llmprof.run.rank_workers"
local document = lazy "llmprof.io.document"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local lists = require "llmprof.tables.lists"
local layout = lazy "llmprof.bundle.layout"
local out = require "llmprof.io.output"
local chapters = lazy "llmprof.report.chapters"
local documents = lazy "llmprof.report.documents"
local rank_files = lazy "llmprof.run.rank_files"
local rank_report = lazy "llmprof.report.ranks"
local rank_view = lazy "llmprof.analysis.serving.ranks"
local sections = lazy "llmprof.report.sections"
local source = lazy "llmprof.query.session.source"
local table_options = require "llmprof.cli.table_options"
local text = require "llmprof.text"
local user = require "llmprof.recipe.user"

local command = {
  name = "ranks",
  usage = "ranks [OPTION...] FILE... | FOLDER | RUN_ID | latest",
  details = [[
Traces, one for each rank or one for several: who waits for whom, in which
stage, layer and step. Of a folder all its traces, of a run what it keeps of each rank. A
file that cannot be read is left out, and said. Under mpirun or srun the processes divide
the files: docs/cluster.md.]],
  options = {
    { "out", short = "o", arg = "DIR", help = "write a bundle: results, page, report, parts" },
    { "shard", arg = "I/N", help = "with --out: only every N-th file from the I-th, as parts" },
    { "merge", help = "put parts together that --shard wrote" },
    { "patience", arg = "S", type = "number", min = 0.1,
      help = "under mpirun or srun: give up when another process is silent for S seconds" },
    { "strict", help = "exit status 1 when something was left out" },
    table_options.format,
    table_options.rows,
  },
  completes = "run",
}

-- Sections of the reports.
local SECTIONS = { "advice", "stages", "ranks", "trust", "missing", "abstained", "silent",
  "environment", "next" }

-- Rows of a table, unless --rows says so.
local MOST = 12


-- ---- what is asked ----

local function shard_of(given)
  if not given.shard then return nil end
  local number, count = given.shard:match "^(%d+)/(%d+)$"
  number, count = math.tointeger(tonumber(number)), math.tointeger(tonumber(count))
  if not count or number < 1 or number > count then
    errors.raise("usage", ("--shard %s: I/N is expected, I from 1 to N"):format(given.shard))
  elseif not given.out then
    errors.raise("usage", "--shard: where to? --out DIR names the folder of its parts")
  end
  return number, count
end


-- A word that is a run stands for the parts of its ranks' files, else for its timeline.
local function of_runs(words)
  return lists.flat(words, function(word)
    local path = source.locate(word) or word
    if not layout.find(path, "manifest") then return { word } end
    local run = artifacts.open(path, user.root())
    local parts = rank_files.list({ run:path(layout.ranks.folder) }, rank_files.written_parts)
    return #parts > 0 and parts or { run:path(layout.timeline) }
  end)
end


local function files_of(given, words)
  if #words == 0 then
    errors.raise("usage", "which files?", { hint = "llmprof ranks rank*.sqlite" })
  end
  local list = rank_files.list(of_runs(words),
    given.merge and rank_files.written_parts or rank_files.traces)
  if #list == 0 then
    errors.raise("nothing", ("%s: no %s in it"):format(words[1],
      given.merge and rank_files.SUFFIX .. " file" or "trace"))
  end
  return list
end


-- ---- writing ----

-- bytes: of the parts, which are written and dropped.
local function write_parts(parts, bytes, path_of)
  for i, made in ipairs(parts) do
    errors.check(fs.write(path_of(rank_files.name_of(made.about.file)), bytes[i]))
    bytes[i] = nil
  end
end


-- results_of: a function of the run's id, of rank_view.results; bytes: see write_parts.
local function write_bundle(given, words, parts, bytes, results_of)
  local run = artifacts.create { out = given.out, recipe = "ranks", whole = true,
    command = table.move(words, 1, #words, 3, { "llmprof", "ranks" }) }
  for _, name in ipairs(folders.list(run:path(layout.ranks.folder))) do
    fs.remove(run:path(layout.ranks.folder) .. "/" .. name) -- of one that was broken off
  end
  write_parts(parts, bytes, function(name) return run:path(layout.rank_part(name)) end)
  local results, made = results_of(run.id)
  results.advice = advice.examine_ranks(results)
  run:write_document(layout.ranks.record, "ranks", results.ranks)
  run:write_document(layout.results, "results", results)
  local events = rank_view.events(made)
  if events then run:write(layout.events, events) end
  local entries = chapters.layout(SECTIONS)
  run:write(layout.reports.page, documents.page(results, entries, events))
  run:write(layout.reports.full, documents.full(results, entries))
  run:set_partial(results.ranks.left_out)
  run:finish "done"
  return results
end


-- ---- printing ----

local function print_table(given, results, name)
  local section = sections.find(name)
  local rows = section.rows(results)
  if #rows == 0 then return end
  rows = lists.first(rows, given.rows or MOST)
  out.write("\n", section.title, "\n", table_options.render(given, section.columns, rows))
end


local function print_results(given, results)
  if given.format == "json" then
    out.write((document.encode("ranks", results.ranks)))
    return
  end
  local said = rank_report.verdict(results)
  if said then out.write(text.clean(said), "\n") end
  if results.ranks.source == "inferred" then out.write(rank_report.basis(results), "\n") end
  for _, name in ipairs { "ranks", "rank_stages", "collectives", "late" } do
    print_table(given, results, name)
  end
  if #results.ranks.files > 1 then print_table(given, results, "rank_files") end
end


-- ---- reading ----

-- Only the parts, for --merge on another day or machine.
local function read_shard(given, words, number, count)
  local files, left_out = rank_files.shard(files_of(given, words), number, count), {}
  local parts, _, bytes = rank_files.parts(files, rank_view.knowledge(), left_out)
  errors.check(fs.mkdirs(given.out))
  write_parts(parts, bytes, function(name) return given.out .. "/" .. name .. rank_files.SUFFIX end)
  out.write(("%s: %d part%s\n"):format(given.out, #parts, #parts == 1 and "" or "s"))
  for _, line in ipairs(left_out) do out.complain(line) end
  return given.strict and #left_out > 0 and errors.status.failed or 0
end


-- The files that the processes of a job have read, in the first of them; the others have nothing
-- more to do (nil). One that cannot go on ends them all.
local function read_in_job(own, given, words, knowledge)
  local ok, list, wrong = errors.call(rank_workers.run, own,
    function() return files_of(given, words) end, knowledge, given.patience)
  if wrong then error(wrong, 0) end
  if ok then return list end
  local which = ("process %d of %d"):format(own.rank, own.size)
  if errors.is_interrupt(list) then
    errors.raise("failed", ("%s: ended by a signal, as %s sends it when another process has "
      .. "ended; nothing was written"):format(which, own.launcher))
  end
  out.complain(("%s: %s; nothing was written"):format(which, list.message))
  return own.line:abandon(errors.status.failed)
end


function command.run(given, words)
  local number, count = shard_of(given)
  if number then return read_shard(given, words, number, count) end
  local own, refused = rank_workers.job()
  if refused then return errors.status.tool end
  local knowledge = rank_view.knowledge()
  local list
  if own then
    list = read_in_job(own, given, words, knowledge)
    if not list then return 0 end
  else
    list = rank_files.read_all(files_of(given, words), knowledge)
  end
  local left_out = {}
  local parts, unread, bytes = rank_files.keep(list, left_out)
  if #parts == 0 then errors.raise("failed", left_out[1] or "no file could be read") end
  local function results_of(id) return rank_view.results(parts, knowledge, id, left_out, unread) end
  local results = given.out and write_bundle(given, words, parts, bytes, results_of)
    or (results_of "ranks")
  print_results(given, results)
  for _, line in ipairs(results.ranks.left_out) do out.complain(line) end
  return given.strict and #results.ranks.left_out > 0 and errors.status.failed or 0
end


return command
