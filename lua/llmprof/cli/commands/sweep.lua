-- llmprof sweep RECIPE KEY=A,B...: the combinations of settings, one run each.
local lazy = require "llmprof.io.lazy"
local artifacts = lazy "llmprof.bundle.artifacts"
local process = require "llmprof.process.child"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local layout = lazy "llmprof.bundle.layout"
local interrupt = require "llmprof.interrupt"
local lists = require "llmprof.tables.lists"
local out = require "llmprof.io.output"
local recipe_argument = lazy "llmprof.cli.arguments"
local recorded = lazy "llmprof.run.capture.recorded"
local sweep = lazy "llmprof.compare.sweep"
local start = lazy "llmprof.run.start"
local text = require "llmprof.text"

local command = {
  name = "sweep",
  usage = "sweep [OPTION...] RECIPE.lua KEY=A,B,... [KEY=VALUE...]",
  details = [[
infer.batch=1,4,16 are three runs, and six with nsys=light,deep as well; [a,b] is one
value. Runs lie in <run.root>/sweep-<recipe>, with sweep.md and sweep.json. Runs
that are done already are kept; one that fails does not stop the others.]],
  completes = "recipe",
  options = {
    { "config", arg = "FILE.yaml", help = "take values from a file" },
    { "trust-config", help = "run programs that it or a preset names, too" },
    { "name", arg = "NAME", help = "name of the folder; sweep-<recipe>" },
    { "dry-run", help = "show the runs and which are done, do nothing" },
  },
}


-- The state of a combination's run: "done", another status of a run that began, or
-- nil.
local function state_of(entry, folder)
  if not layout.find(entry.folder, "manifest") then return nil end
  return artifacts.open(entry.id, folder).manifest.status
end


-- What one run of a combination is to do, in llmprof.run.start's words.
local function wanted_of(made, given, settings)
  return { recipe = made, settings = settings, config = given.config,
    trusted = given["trust-config"], quiet = true }
end


-- The run of a combination in its folder, begun or continued.
local function run_of(entry, made, given, folder)
  local wanted = wanted_of(made, given, lists.joined(entry.words, { "run.root=" .. folder,
    "run.id=" .. entry.id }))
  wanted.resume = state_of(entry, folder) and entry.id or nil
  return wanted
end


local function run_or_keep(entry, made, given, folder)
  local place, message, code = fs.beneath(folder, entry.id) -- nothing is written through links
  if not place and code ~= "notfound" then errors.raise("failed", message) end
  if state_of(entry, folder) == "done" then return "kept" end
  local wanted = run_of(entry, made, given, folder)
  start.run(wanted, start.compose(wanted))
  return "done"
end


local function run_all(list, made, given, folder)
  local screen, failed = out.terminal(io.stdout, 1), 0
  for i, entry in ipairs(list) do
    local mark = ("%d/%d %s"):format(i, #list, text.clean(entry.label))
    screen.status(mark .. " ...")
    local ok, result = errors.call(run_or_keep, entry, made, given, folder)
    interrupt.collect() -- a trace and its columns are large
    if not ok and result.kind == "interrupted" then error(result, 0) end
    entry.status, entry.message = ok and result or "failed", not ok and result.message or nil
    if not ok then failed = failed + 1 end
    screen.clear()
    screen.line(("%s: %s%s"):format(mark, entry.status,
      entry.message and ": " .. text.clean(entry.message) or ""))
  end
  return failed
end


local function preview(list, made, given, folder)
  for _, entry in ipairs(list) do
    if state_of(entry, folder) == "done" then
      out.write(("%s: done, is kept\n"):format(entry.label))
    else
      out.write(("%s\n  $ %s\n"):format(entry.label,
        process.shown(start.words(run_of(entry, made, given, folder)))))
    end
  end
end


function command.run(given, words)
  local made = recipe_argument.load(words, "llmprof sweep alt_llm infer.batch=1,4,16")
  local list = sweep.combinations(table.move(words, 2, #words, 1, {}))
  local name = given.name or "sweep-" .. made.name
  if not name:find "^[%w_][%w_.-]*$" then
    errors.raise("usage", ("--name: '%s' cannot name a folder"):format(name))
  end
  -- every combination first: nobody should wait for the last one to learn of a typing error in it
  local root
  for _, entry in ipairs(list) do
    local composed = start.compose(wanted_of(made, given, entry.words))
    recorded.check(made, composed)
    root = root or composed.tree.run.root
  end
  local folder = root .. "/" .. name
  for _, entry in ipairs(list) do entry.folder = folder .. "/" .. entry.id end
  if given["dry-run"] then
    preview(list, made, given, folder)
    return 0
  end
  local held <close> = artifacts.hold_folder(folder) -- luacheck: ignore 211
  local failed = run_all(list, made, given, folder)
  local found, argv = sweep.rows(list), lists.joined({ "llmprof", "sweep" }, words)
  out.write("\n", sweep.text(found, out.columns(1)))
  errors.check(fs.write(folder .. "/sweep.md",
    sweep.markdown(found, made.name, process.shown(argv))))
  errors.check(fs.write(folder .. "/sweep.json", sweep.json(found)))
  out.write("\nsweep: ", text.clean(folder), "/sweep.md\n")
  if failed == 0 then return 0 end
  out.complain(("%d of %d runs failed"):format(failed, #list))
  return errors.status.failed
end


return command
