-- llmprof compare A B [C...]: what changed between runs, and is it more than noise?
local lazy = require "llmprof.io.lazy"
local argument = lazy "llmprof.cli.arguments"
local baselines = lazy "llmprof.compare.baselines"
local comparison = lazy "llmprof.compare.comparison"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local limits = lazy "llmprof.compare.limits"
local lists = require "llmprof.tables.lists"
local out = require "llmprof.io.output"
local whatif = lazy "llmprof.whatif"
local report = lazy "llmprof.compare.report"
local session = lazy "llmprof.query.session"
local side = lazy "llmprof.compare.side"
local table_options = lazy "llmprof.cli.table_options"
local user = require "llmprof.recipe.user"

local command = {
  name = "compare",
  usage = "compare [OPTION...] BEFORE AFTER...",
  details = [[
Each is a run (its id, its folder or latest), the folder of a bundle, a baseline
(NAME or baseline:NAME), a trace of any format, or a folder of traces. Several with commas between
them are runs of the same thing and one side: how much they differ is what a change is
held against. With one word only, the baseline in use is what it is compared with
(llmprof baseline use NAME).
Exit status 5 when a limit of --fail-on is broken, 6 when none is but one may be.
With one run a side, a change beyond what single runs are assumed to differ by is one.]],
  completes = "side",
  options = {
    user.root_option,
    table_options.document_format,
    { "rows", short = "n", arg = "N", type = "integer", default = 15, min = 0,
      help = "kernels shown; 0 is all" },
    table_options.fail_on,
    table_options.strict,
    table_options.allow_undecided,
    { "output", short = "o", arg = "FILE.html",
      help = "write a page: both timelines, aligned by step, and what changed" },
    { "assumed", arg = "PERCENT", type = "number", min = 0,
      help = "single runs of the same thing are taken to differ by up to so much (10)" },
    { "predicted", arg = "CHANGE",
      help = "hold AFTER against what llmprof whatif predicts for BEFORE with this change" },
  },
}


-- The words, the baseline in use before a single one.
local function names_of(words, root)
  if #words > 1 then return words end
  if #words == 0 then
    errors.raise("usage", "what is to be compared?", { hint = "llmprof compare BEFORE AFTER" })
  end
  local current = baselines.current(root)
  if not current then
    errors.raise("usage", "one run, and no baseline is in use",
      { hint = "name two, or choose one: llmprof baseline use NAME" })
  end
  return { "baseline:" .. current, words[1] }
end


-- Was it predicted: by --predicted, or by a finding of the run before that is gone?
local function print_prediction(given, sides)
  local is_pair = #sides == 2 and given.format ~= "json"
  local code = given.predicted or is_pair and whatif.fitting(sides[1].results, sides[2].results)
  if not code then return end
  local advice = sides[1].results.advice -- which a trace has none of
  local finding = advice and advice.findings[tonumber(code)]
  local title = finding and ("finding %s of %s: %s"):format(code, sides[1].name, finding.title)
  local ok, rows = errors.call(function()
    local opened = lists.map(sides, function(one)
      local run = one.runs[1] -- whose name says where its trace is, where it is one alone
      return session.open { fs.stat(run.name) and run.name or run.folder }
    end)
    return whatif.outcome(opened[1].files, opened[2].files, code)
  end)
  if not ok and (given.predicted or rows.kind ~= "usage") then error(rows, 0) end
  if not ok then
    out.write(("\nNot checked: what was predicted by %s (%s)\n"):format(title, rows.message))
  elseif given.predicted or #rows > 0 then
    out.write("\n", whatif.render_outcome(given.format, rows,
      finding and table.concat(finding.changes or {}, " + ") or code, title))
  end
end


local function check_options(given, words)
  if given.predicted and (#words ~= 2 or given.format == "json") then
    errors.raise("usage", "--predicted: of two runs, as a table or as Markdown")
  end
  limits.check_options(given)
  if given.output and not given.output:find "%.html?$" then
    errors.raise("usage", given.output .. ": not .html",
      { hint = "a page is written; -f md or -f json print the same for others" })
  end
  if given.output then argument.folder_of(given.output) end
end


function command.run(given, words)
  check_options(given, words)
  local wanted = given["fail-on"] and limits.parse(given["fail-on"])
  local sides = side.open_all(names_of(words, given.root), given.root,
    (given.assumed or user.value "compare.assumed") / 100)
  if given.output and #sides ~= 2 then
    errors.raise("usage", "--output: a page compares two runs")
  end
  for _, one in ipairs(sides) do -- events without a time are left out of what is compared
    local check = lists.find((one.results.integrity or {}).checks or {}, "name", "times")
    if check then out.warn(("%s: %s\n"):format(one.name, check.text)) end
  end
  local list = lists.map(table.move(sides, 2, #sides, 1, {}), function(after)
    local pair = comparison.make(sides[1], after)
    pair.limits = wanted and limits.check(wanted, sides[1], after, given.strict) or nil
    return pair
  end)
  if given.format == "json" then
    local document = json.ordered({ schema_version = 1,
      comparisons = json.list(lists.map(list, report.object)) },
      { "schema_version", "comparisons" })
    out.write(errors.check(json.encode(document, { pretty = true })), "\n")
  else
    local counts, all = limits.counts(list)
    if counts.kept < all then out.write(report.outcome(list), "\n\n") end
    out.write(table.concat(lists.map(list, function(made)
      return report.text(made, { format = given.format, rows = given.rows,
        columns = out.columns(1) })
    end), "\n"))
  end
  if given.output then -- with both timelines, or none
    local before, after = side.events(sides[1]), side.events(sides[2])
    errors.check(fs.write(given.output,
      report.page(list[1], before and after and { before, after } or nil)))
  end
  print_prediction(given, sides)
  for _, line in ipairs(limits.enforce(list, given["allow-undecided"])) do out.complain(line) end
  return 0
end


return command
