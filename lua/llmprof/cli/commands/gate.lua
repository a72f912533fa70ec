-- llmprof gate RECIPE --baseline NAME --fail-on LIMITS: run it until the limits are decided.
local lazy = require "llmprof.io.lazy"
local artifacts = lazy "llmprof.bundle.artifacts"
local baselines = lazy "llmprof.compare.baselines"
local comparison = lazy "llmprof.compare.comparison"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local identity = lazy "llmprof.run.identity"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local layout = lazy "llmprof.bundle.layout"
local limits = lazy "llmprof.compare.limits"
local out = require "llmprof.io.output"
local files = require "llmprof.io.files"
local process = require "llmprof.process.child"
local recipe_argument = lazy "llmprof.cli.arguments"
local recorded = lazy "llmprof.run.capture.recorded"
local report = lazy "llmprof.compare.report"
local side = lazy "llmprof.compare.side"
local start = lazy "llmprof.run.start"
local sys = require "llmprof.sys"
local table_options = lazy "llmprof.cli.table_options"
local text = require "llmprof.text"

local command = {
  name = "gate",
  usage = "gate --baseline NAME --fail-on LIMITS [OPTION...] RECIPE.lua [KEY=VALUE...]",
  details = [[
Runs the recipe up to --runs times, and stops before where more runs would
change nothing. The baseline (llmprof baseline save) is run again, in turn with
the new side, with its own settings: in --before DIR, a checkout of the earlier
code, or here, where this is the commit that it was made of. Else its stored
runs are what is compared with. Prints ten lines of Markdown, the verdict first,
and writes them with gate.xml (JUnit) and gate.json to the folder of the runs.
Exit status 0 when the limits are kept, 5 when one is broken, 6 when one may be.]],
  completes = "recipe",
  options = {
    { "baseline", arg = "NAME", help = "what is compared with: llmprof baseline list" },
    { "before", arg = "DIR", help = "a checkout in which the baseline is run again" },
    { "runs", arg = "N", type = "integer", default = 5, min = 1,
      help = "runs of each side at most" },
    table_options.fail_on,
    table_options.strict,
    table_options.allow_undecided,
    { "out", arg = "DIR", help = "folder for runs and results; <run.root>/gate-<recipe>" },
    { "config", arg = "FILE.yaml", help = "take values from a file" },
    { "trust-config", help = "run programs that it, the baseline or a preset names" },
  },
}


-- ---- what is asked for ----

local function check_options(given, words)
  for _, name in ipairs { "baseline", "fail-on" } do
    if not given[name] then
      errors.raise("usage", ("--%s is needed"):format(name), { hint = "llmprof gate alt_llm "
        .. "--baseline main --fail-on 'decode.ms>+3%'" })
    end
  end
  limits.check_options(given)
  for _, word in ipairs(words) do
    local key = word:match "^%+?([%w_.-]+)="
    if key == "out" or key == "run.id" then
      errors.raise("usage", ("gate sets %s itself"):format(key), { hint = "--out DIR" })
    end
  end
  if given.before and words[1]:sub(1, 1) == "/" then
    errors.raise("usage", "--before: name the recipe by its path in the checkout")
  end
end


local function is_repeatable(cfg) return cfg.capture ~= "recorded" and cfg.capture ~= "files" end


-- Does the configuration of the baseline hold all that it was run with?
local function is_complete(config)
  for _, value in pairs(config) do
    if value == process.HIDDEN or type(value) == "table" and not is_complete(value) then
      return false
    end
  end
  return true
end


-- The folder in which the baseline can be run again, or nil and why it cannot.
local function folder_of_before(given, made, before)
  if not before.config then return nil, "its configuration was not kept" end
  if not is_repeatable(before.config) then return nil, "it is a recorded capture" end
  if not is_complete(before.config) then return nil, "secret settings are not kept" end
  if given.before then return given.before end
  local was = before.results.environment
  local commit, changed = identity.commit(identity.code_folder(made))
  if not was.commit or not commit then return nil, "its commit, or this one, is not known" end
  if was.commit ~= commit then
    return nil, ("it is of commit %.10s, this is %.10s; --before DIR names a checkout"):format(
      was.commit, commit)
  end
  if was.commit_changed or changed then return nil, "files of the commit were changed" end
  return "."
end


-- ---- running ----

-- One run in a process of its own: which starts as the next does, may have another working
-- folder, and leaves no memory behind.
local function run_once(words, folder, id, given, cwd)
  local argv = lists.joined({ sys.executable(), "run" }, words,
    { "run.root=" .. folder, "run.id=" .. id, "--quiet" },
    given["trust-config"] and { "--trust-config" } or {})
  local result, message = process.run(argv, { cwd = cwd, stdout = "inherit", stderr = "inherit",
    kill_orphans = true })
  if not result then errors.raise("failed", message) end
  if result.interrupted then errors.raise("interrupted", "interrupted") end
  if not result.ok then
    errors.raise("failed", ("run %s failed"):format(id),
      { hint = "it was: " .. process.shown(argv) })
  end
  out.warn(("%s: done\n"):format(id))
  return folder .. "/" .. id
end


-- Runs until the limits are decided, both sides in turn where cwd is the folder of the earlier
-- one, first one, then the other first. Returns the sides.
local function run_all(job)
  local given, folders = job.given, { before = {}, after = {} }
  local before, after = job.before, nil
  local before_words = { job.words[1], "--config", job.baseline .. "/" .. layout.config,
    "out=null" }
  local after_words = lists.joined(job.words, given.config and { "--config", given.config } or {})
  for round = 1, job.most do
    for turn = 1, 2 do
      if turn % 2 == round % 2 then
        folders.after[round] = run_once(after_words, job.folder, ("after-%d"):format(round), given)
      elseif job.cwd then
        folders.before[round] = run_once(before_words, job.folder, ("before-%d"):format(round),
          given, job.cwd)
      end
    end
    if job.cwd then before = side.of_folders(job.before.name, folders.before, job.folder) end
    after = side.of_folders(job.name, folders.after, job.folder)
    if limits.are_settled(job.wanted, before, after) then break end
  end
  return before, after
end


-- ---- what it found ----

local function write_results(made, job, verdict)
  local function write(name, contents)
    errors.check(fs.write(job.folder .. "/" .. name, contents))
  end
  local ran = ("Runs: %d of before, %d of after, "):format(#made.before.runs, #made.after.runs)
  if job.cwd then
    ran = ran .. ("in turn, of %d at most."):format(job.most)
  else
    ran = ran .. ("of %d at most. The baseline was not run again: %s."):format(job.most, job.why)
  end
  local brief = report.brief(made, ran)
  write("gate.md", brief)
  write("gate.xml", report.junit(made, job.name, limits.complaint,
    job.given["allow-undecided"]))
  local document = json.ordered({ schema_version = 1, verdict = verdict,
    recipe = job.name, baseline = job.given.baseline, in_turn = job.cwd ~= nil,
    not_again = job.why or json.null, runs_before = #made.before.runs,
    runs_after = #made.after.runs, most = job.most, comparison = report.object(made) },
    { "schema_version", "verdict", "recipe", "baseline", "in_turn", "not_again", "runs_before",
      "runs_after", "most", "comparison" })
  write("gate.json", errors.check(json.encode(document, { pretty = true })) .. "\n")
  out.write(brief)
end


function command.run(given, words)
  check_options(given, words)
  local wanted = limits.parse(given["fail-on"])
  local made = recipe_argument.load(words, "llmprof gate alt_llm --baseline main --fail-on ...")
  local composed = start.compose { recipe = made, config = given.config,
    settings = table.move(words, 2, #words, 1, {}) }
  recorded.check(made, composed)
  local root = composed.tree.run.root
  local folder = given.out or ("%s/gate-%s"):format(root, made.name)
  local before = side.open("baseline:" .. given.baseline, root)
  if before.results.run.recipe ~= made.name then -- of another program a limit says nothing
    errors.raise("usage", ("baseline '%s' is of recipe %s, not of %s"):format(given.baseline,
      before.results.run.recipe, made.name),
      { hint = "llmprof baseline save RUN NAME keeps one of this recipe" })
  end
  local held <close> = artifacts.hold_folder(folder) -- luacheck: ignore 211
  for _, name in ipairs(files.list(folder)) do -- what an earlier gate left
    if name:find "^before%-%d+$" or name:find "^after%-%d+$" then
      artifacts.remove(folder .. "/" .. name)
    end
  end
  local job = { given = given, wanted = wanted, words = words, name = made.name, before = before,
    baseline = errors.check(fs.realpath(baselines.must_find(given.baseline, root))),
    folder = errors.check(fs.realpath(folder)),
    most = is_repeatable(composed.tree) and given.runs or 1 }
  job.cwd, job.why = folder_of_before(given, made, before)
  if job.most == 1 and not is_repeatable(composed.tree) then
    job.cwd, job.why = nil, "a recorded capture is the same every time"
  end
  local pair = comparison.make(run_all(job))
  pair.limits = limits.check(wanted, pair.before, pair.after, given.strict)
  local counts, all = limits.counts { pair }
  write_results(pair, job, counts.broken > 0 and "broken" or counts.kept < all and "undecided"
    or "kept")
  for _, line in ipairs(limits.enforce({ pair }, given["allow-undecided"])) do
    out.complain(text.clean(line))
  end
  return 0
end


return command
