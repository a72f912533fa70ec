-- llmprof report FILE...: the bundle of any trace, without a recipe.
local lazy = require "llmprof.io.lazy"
local argument = lazy "llmprof.cli.arguments"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local generators = lazy "llmprof.analysis.serving.generators"
local handed = lazy "llmprof.trace.handed"
local lists = require "llmprof.tables.lists"
local nsys = lazy "llmprof.nvidia.nsys"
local recipe = lazy "llmprof.recipe"
local reports = lazy "llmprof.run.reports"
local user = require "llmprof.recipe.user"

local command = {
  name = "report",
  usage = "[report] [OPTION...] FILE | FOLDER... [KEY=VALUE...]",
  details = [[
FILE is an export of Nsight Systems (.sqlite, or .nsys-rep where nsys is installed), a
recording of `llmprof collect` (.spool), a trace of torch.profiler (.json, .json.gz) or a
profile of JAX (.xplane.pb); of a FOLDER all its traces, one for each rank. What lies next
to it or is named is joined: a raw page of ncu (.csv), metrics.json, operators.json, collapsed
stacks, the log of a vLLM or SGLang server (.log), and the JSON that a load generator wrote
(vllm bench serve, SGLang's bench_serving, GenAI-Perf, AIPerf) or the table that the first
two printed. No recipe is needed: stages are the engine's steps, the outermost ranges, the
modules that XLA ran, or prefill and decode as they can be inferred. What a format cannot
tell is absent, and said.

It writes a bundle, as a recipe's run does, and prints its digest.]],
  options = {
    { "out", short = "o", arg = "DIR", help = "write the bundle here" },
    { "model", short = "m", arg = "MODEL",
      help = "what ran: a Hugging Face config.json, or a name of conf/model" },
    { "stages", short = "s", arg = "A,B", type = "list",
      help = "ranges that are stages, or prefill,decode to infer them" },
    { "recipe", arg = "R.lua", help = "take stages, hooks and report sections of a recipe" },
    { "resume", arg = "RUN", help = "continue a run of these files" },
    { "quiet", short = "q", help = "print nothing but errors" },
    { "verbose", short = "v", help = "show the steps" },
    { "strict", help = "exit status 1 when something was left out" },
    user.root_option,
  },
}


function command.run(given, words)
  local paths, settings = lists.parted(words, function(word) -- KEY=VALUE as for a recipe
    local is_setting = word:find "^[+~]?[%a_][%w_.-]*=" or word:find "^~[%a_][%w_.-]*$"
    return not is_setting or fs.stat(word)
  end)
  if #paths == 0 then
    errors.raise("usage", "which trace?", { hint = "llmprof report run.sqlite" })
  end
  local model = given.model
  if model then
    local is_file = model:find("/", 1, true) or model:find "%.json$" or fs.stat(model)
    settings[#settings + 1] = (is_file and "model.config=" or "model.arch=") .. model
  end
  handed.look(paths, nsys.exported, generators.document_of) -- no folder of a run for no trace
  local run, results, left_out = reports.make { paths = paths, settings = settings,
    out = given.out, root = given.root, stages = given.stages,
    recipe = given.recipe and recipe.load(given.recipe), resume = given.resume,
    verbose = given.verbose }
  if not given.quiet then
    argument.print_digest(run, results, run.root and run.root == user.root() and run.id or run.dir,
      1)
  end
  return left_out > 0 and given.strict and errors.status.failed or 0, true
end


return command
