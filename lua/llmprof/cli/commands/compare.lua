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
Exit status 5 when a limit of --fail-on is broken.]],
  completes = "side",
  options = {
    user.root_option,
    table_options.document_format,
    { "rows", short = "n", arg = "N", type = "integer", default = 15,
      help = "kernels shown; 0 is all" },
    { "fail-on", arg = "LIMITS", help = "'decode.ms>+3%, prefill.kernels>+0': fail beyond these" },
    { "strict", help = "a limit that may be broken is broken" },
  },
}


local function sides_of(words, root)
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
  return side.open_all(names, root)
end


-- Each against the first: comparisons, and how many limits are broken.
local function compare(sides, given, wanted)
  local made, broken = {}, 0
  for i = 2, #sides do
    local pair = comparison.make(sides[1], sides[i])
    if wanted then
      local count
      pair.limits, count = limits.check(wanted, sides[1], sides[i], given.strict)
      broken = broken + count
    end
    made[#made + 1] = pair
  end
  return made, broken
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


-- Say on standard error which limits are broken or may be.
local function complain(list)
  for _, made in ipairs(list) do
    for _, row in ipairs(made.limits or {}) do
      if row.outcome ~= "kept" then
        out.warn(("llmprof: %s: limit '%s' %s: %s before, %s after (%s)\n"):format(
          made.after.name, row.limit,
          row.outcome == "broken" and "is broken" or "may be broken", number(row.before, row.unit),
          number(row.after, row.unit), row.why or row.verdict))
      end
    end
  end
end


function command.run(given, words)
  if given.rows < 0 then errors.raise("usage", "--rows: 0 or more") end
  if given.strict and not given["fail-on"] then
    errors.raise("usage", "--strict needs limits: --fail-on 'decode.ms>+3%'")
  end
  local wanted = given["fail-on"] and limits.parse(given["fail-on"])
  local list, broken = compare(sides_of(words, given.root), given, wanted)
  if given.format == "json" then
    print_json(list)
  else
    print_text(list, given)
  end
  complain(list)
  return broken > 0 and errors.status.gate or 0
end


return command
