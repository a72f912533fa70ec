-- llmprof compare A B [C...]: what changed between runs, and is it more than noise?
local lazy = require "llmprof.io.lazy"
local baselines = lazy "llmprof.compare.baselines"
local comparison = lazy "llmprof.compare.comparison"
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local limits = lazy "llmprof.compare.limits"
local out = require "llmprof.io.output"
local report = lazy "llmprof.compare.report"
local side = lazy "llmprof.compare.side"
local table_options = lazy "llmprof.cli.table_options"
local term = require "llmprof.io.terminal"
local user = require "llmprof.recipe.user"

local command = {
  name = "compare",
  summary = "what changed from one run to others, and is it more than noise",
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
    { "rows", short = "n", arg = "N", type = "integer", default = 15,
      help = "kernels shown; 0 is all" },
    { "fail-on", arg = "LIMITS", help = "'decode.ms>+3%, prefill.kernels>+0': fail beyond these" },
    { "strict", help = "a limit that may be broken is broken" },
    { "allow-undecided", help = "a limit that may be broken is kept" },
    { "assumed", arg = "PERCENT",
      help = "single runs of the same thing are taken to differ by up to so much (10)" },
  },
}


local function sides_of(words, root, assumed)
  local names = words
  if #words == 1 then
    local current = baselines.current(root)
    if not current then
      errors.raise("usage", "one run, and no baseline is in use",
        { hint = "name two, or choose one: llmprof baseline use NAME" })
    end
    names = { "baseline:" .. current, words[1] }
  elseif #words == 0 then
    errors.raise("usage", "what is to be compared?", { hint = "llmprof compare BEFORE AFTER" })
  end
  return side.open_all(names, root, assumed)
end


-- Each against the first: comparisons, how many limits are broken, and of how many that cannot be
-- told.
local function compare(sides, given, wanted)
  local made, broken, undecided = {}, 0, 0
  for i = 2, #sides do
    local pair = comparison.make(sides[1], sides[i])
    if wanted then
      local worse, unknown
      pair.limits, worse, unknown = limits.check(wanted, sides[1], sides[i], given.strict)
      broken, undecided = broken + worse, undecided + unknown
    end
    made[#made + 1] = pair
  end
  return made, broken, undecided
end


local function print_json(list)
  local objects = json.list {}
  for i, made in ipairs(list) do objects[i] = report.object(made) end
  local document = json.ordered({ schema_version = 1, comparisons = objects },
    { "schema_version", "comparisons" })
  out.write(errors.check(json.encode(document, { pretty = true })), "\n")
end


local function print_text(list, given)
  local options = { format = given.format, rows = given.rows,
    columns = term.new(io.stdout, 1).columns }
  for i, made in ipairs(list) do
    if i > 1 then out.write "\n" end
    out.write(report.text(made, options))
  end
end


local function number(value, unit)
  return ("%.6g%s"):format(value, unit and " " .. unit or "")
end


-- The limits that are not kept, a line each, those that are broken first.
local function complaints(list)
  local lines, unknown = {}, {}
  for _, made in ipairs(list) do
    for _, row in ipairs(made.limits or {}) do
      if row.outcome ~= "kept" then
        table.insert(row.outcome == "broken" and lines or unknown,
          ("%s: limit '%s' %s: %s before, %s after (%s)"):format(made.after.name, row.limit,
            row.outcome == "broken" and "is broken" or "may be broken",
            number(row.before, row.unit), number(row.after, row.unit), row.why or row.verdict))
      end
    end
  end
  return table.move(unknown, 1, #unknown, #lines + 1, lines)
end


-- That limits are not kept, as a line: first on standard output, where people look.
local function print_outcome(broken, undecided)
  if broken + undecided == 0 then return end
  local said = broken > 0 and ("Broken: %d of the limits"):format(broken)
    or ("Undecided: %d of the limits may be broken"):format(undecided)
  if broken > 0 and undecided > 0 then said = said .. (", %d more may be"):format(undecided) end
  out.write(said, ".\n\n")
end


-- An error of the limits that are not kept: its message is the first line.
local function raise(kind, lines)
  local message = table.remove(lines, 1)
  errors.raise(kind, message, { detail = #lines > 0 and table.concat(lines, "\n") or nil })
end


-- Percent of --assumed, or what this user has set, as a share.
local function assumed_share(given)
  local percent = given.assumed and tonumber(given.assumed) or not given.assumed and user.assumed()
  if not percent or percent < 0 then
    errors.raise("usage", ("--assumed %s: a number of percent is expected"):format(given.assumed))
  end
  return percent / 100
end


local function check_options(given)
  if given.rows < 0 then errors.raise("usage", "--rows: 0 or more") end
  for _, name in ipairs { "strict", "allow-undecided" } do
    if given[name] and not given["fail-on"] then
      errors.raise("usage", ("--%s needs limits: --fail-on 'decode.ms>+3%%'"):format(name))
    end
  end
  if given.strict and given["allow-undecided"] then
    errors.raise("usage", "--strict and --allow-undecided: one of them")
  end
end


function command.run(given, words)
  check_options(given)
  local wanted = given["fail-on"] and limits.parse(given["fail-on"])
  local sides = sides_of(words, given.root, assumed_share(given))
  local list, broken, undecided = compare(sides, given, wanted)
  if given.format == "json" then
    print_json(list)
  else
    if wanted then print_outcome(broken, undecided) end
    print_text(list, given)
  end
  local lines = complaints(list)
  if broken > 0 then raise("gate", lines) end
  if undecided > 0 and not given["allow-undecided"] then raise("undecided", lines) end
  for _, line in ipairs(lines) do out.complain(line) end
  return 0
end


return command
