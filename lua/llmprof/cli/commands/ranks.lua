-- llmprof ranks FILE...: steps, ranks and collectives of many files as one.
local advice = require "llmprof.advice"
local artifacts = require "llmprof.bundle.artifacts"
local errors = require "llmprof.base.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local out = require "llmprof.base.out"
local part = require "llmprof.ranks.part"
local rank_files = require "llmprof.run.rank_files"
local rank_report = require "llmprof.report.ranks"
local rank_view = require "llmprof.analysis.rank_view"
local report = require "llmprof.report.full"
local sections = require "llmprof.report.sections"
local table_options = require "llmprof.cli.table_options"
local text = require "llmprof.text"

local command = {
  name = "ranks",
  summary = "steps, ranks and collectives of many files as one",
  usage = "ranks [OPTION...] FILE... | FOLDER",
  details = [[
Exports of nsys, one for each rank or one for several: who waits for whom, in which
stage, layer and step. Of a folder all its .sqlite files. A file that cannot be read
is left out, and said.]],
  options = {
    { "out", short = "o", arg = "DIR", help = "write a bundle: results.json, report.md, ranks/" },
    { "shard", arg = "I/N", help = "with --out: only every N-th file from the I-th, as parts" },
    { "merge", help = "put parts together that --shard wrote" },
    { "strict", help = "exit status 1 when something was left out" },
    table_options.format,
    table_options.rows,
  },
  completes = "trace",
}

local TRACE = ".sqlite"

-- Rows of a table, unless --rows says so.
local MOST = 12


-- ---- what is asked ----

-- "2/4" as 2, 4.
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


local function files_of(given, words)
  if #words == 0 then
    errors.raise("usage", "which files?", { hint = "llmprof ranks rank*.sqlite" })
  end
  local list = rank_files.list(words, { given.merge and rank_files.SUFFIX or TRACE })
  if #list == 0 then
    errors.raise("nothing", ("%s: no %s file in it"):format(words[1],
      given.merge and rank_files.SUFFIX or TRACE))
  end
  return list
end


local function name_of(path)
  return (path:match "([^/]*)$":gsub("%.sqlite$", ""))
end


local function check_parts(parts, left_out)
  if #parts > 0 then return end
  errors.raise("failed", left_out[1] or "no file could be read")
end


-- ---- writing ----

local function write_parts(parts, path_of)
  for _, made in ipairs(parts) do
    errors.check("failed", fs.write(path_of(name_of(made.about.file)), part.encode(made)))
  end
end


-- Only the parts, for --merge on another day or machine.
local function write_shard(given, parts)
  errors.check("failed", fs.mkdirs(given.out))
  write_parts(parts, function(name) return given.out .. "/" .. name .. rank_files.SUFFIX end)
  out.write(("%s: %d part%s\n"):format(given.out, #parts, #parts == 1 and "" or "s"))
end


local function write_bundle(given, words, parts, knowledge, left_out)
  local run = artifacts.create { out = given.out, recipe = "ranks",
    command = table.move(words, 1, #words, 3, { "llmprof", "ranks" }) }
  write_parts(parts, function(name) return run:path(layout.rank_part(name)) end)
  local results = rank_view.results(parts, knowledge, run.id, left_out)
  results.advice = advice.examine(results)
  run:write_json(layout.ranks.record, results.ranks)
  run:write_json(layout.results, results)
  run:write("report.md", report.render(results, { "environment", "stages", "advice" }))
  run:set_partial(results.ranks.left_out)
  run:finish "done"
  return results
end


-- ---- printing ----

local function print_table(given, results, name, title)
  local section = sections.find(name)
  local rows = section.rows(results)
  if #rows == 0 then return end
  rows = table.move(rows, 1, math.min(#rows, given.rows or MOST), 1, {})
  out.write(title and "\n" .. section.title .. "\n" or "\n",
    table_options.render(given, section.columns, rows))
end


local function print_results(given, results)
  if given.format == "json" then
    local json = require "llmprof.json"
    out.write(errors.check("failed", json.encode(results.ranks, { pretty = true })), "\n")
    return
  end
  local said = rank_report.verdict(results)
  if said then out.write(text.clean(said), "\n") end
  for _, name in ipairs { "ranks", "rank_stages", "collectives", "late" } do
    print_table(given, results, name, true)
  end
  if #results.ranks.files > 1 then print_table(given, results, "rank_files", true) end
end


local function print_left_out(list)
  for _, line in ipairs(list) do out.complain(line) end
end


function command.run(given, words)
  table_options.check_rows(given)
  local number, count = shard_of(given)
  local files, left_out = files_of(given, words), {}
  if number then files = rank_files.shard(files, number, count) end
  local knowledge = rank_view.knowledge()
  local parts = rank_files.parts(files, knowledge, left_out)
  if number then
    write_shard(given, parts)
    print_left_out(left_out)
    return given.strict and #left_out > 0 and 1 or 0
  end
  check_parts(parts, left_out)
  local results = given.out and write_bundle(given, words, parts, knowledge, left_out)
    or rank_view.results(parts, knowledge, "ranks", left_out)
  print_results(given, results)
  print_left_out(results.ranks.left_out)
  return given.strict and #results.ranks.left_out > 0 and errors.status.failed or 0
end


return command
