-- A figure stands in several places: where it is computed, in the schema of the
-- results, in columns. Here each is looked for in results of runs that have a little of
-- everything, so that one that is forgotten in a place is found.
local analysis = require "llmprof.analysis"
local artifacts = require "llmprof.bundle.artifacts"
local baselines = require "llmprof.compare.baselines"
local breakdown = require "llmprof.analysis.stages.breakdown"
local bundle = require "tests.lua.support.bundle"
local chapters = require "llmprof.report.chapters"
local columns = require "llmprof.report.columns"
local comparison = require "llmprof.compare.comparison"
local compared = require "llmprof.compare.report"
local digest = require "llmprof.report.digest"
local document = require "llmprof.io.document"
local documents = require "llmprof.report.documents"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local kernels = require "llmprof.analysis.kernels.table"
local limits = require "llmprof.compare.limits"
local marked = require "tests.lua.support.marked"
local pipelined = require "tests.lua.support.pipelined"
local rank_part = require "llmprof.ranks.part"
local rank_view = require "llmprof.analysis.serving.ranks"
local ranks = require "tests.lua.support.ranks"
local rows = require "llmprof.report.rows"
local sections = require "llmprof.report.sections"
local sampled = require "tests.lua.support.sampled"
local load_client = require "tests.lua.support.load_client"
local side = require "llmprof.compare.side"
local spawn = require "llmprof.spawn"
local stages = require "llmprof.analysis.stages.find"
local sweep = require "llmprof.compare.sweep"
local sys = require "llmprof.sys"
local timeline = require "tests.lua.support.timeline"
local trace_file = require "llmprof.trace.file"
local traces = require "tests.lua.support.traces"

local LINES = "tests/fixtures/torch/lines.json"
local EAGER, GRAPH = "tests/fixtures/compare/eager", "tests/fixtures/compare/graph"

local function set_of(names)
  local set = {}
  for name in names:gmatch "%S+" do set[name] = true end
  return set
end

-- What no run here has: the specs of what computes them make these.
local elsewhere = set_of [[
  client_times.p99_ns collectives_among.own collectives_among.own.alone_ns
  collectives_among.own.blocks collectives_among.own.calls collectives_among.own.ns
  counters.by_correlation dropped.why efficiency.hfu environment.commit
  environment.commit_changed gap.sampled gap.sampled_count gap.samples host_step.p99_ns
  inferred.layers input.calls input.sequences input.tokens joined_operator.function
  joined_operator.line kv_cache.tokens kv_transfers.unknown launch_place.kernel
  launch_place.module launch_place.operator launch_stage.name launch_stage.order
  launches.kernels launches.left_out launches.modules launches.operators launches.places
  launches.stages left_out.cut left_out.first left_out.openings left_out.per_step left_out.rank
  left_out.step load.generator load.unread memory.allocated_bytes memory.device memory.events
  memory.reserved_bytes operators.doubtful_events operators.inputs operators.launches
  operators.memory other_program.calls other_program.excess_ns other_program.from_ns
  other_program.kinds other_program.names other_program.p50_ns other_program.usual_ns
  other_stream.calls other_stream.kernel other_stream.ns rank.mpi_ns ranks.doubt
  ranks.startup_steps ranks_verdict.group ranks_verdict.group_share repeats.cut
  running_cost.energy_j_per_token running_cost.energy_source running_cost.idle_w
  slow_steps.every stage.other_program stage.other_stream stage.own stage_cost.energy_j
  stage_cost.energy_j_per_token stage_cost.idle_share stage_lines.generated_ns step_layers.ends
  wait.ahead
]]

local elsewhere_columns = set_of [[
  compare_kernels.was efficiency.hfu kv_cache.bytes requests.p99_ns running_cost.energy_j
  running_cost.energy_j_per_token running_cost.idle_share sweep_runs.energy sweep_runs.message
  timeline_operators.function timeline_operators.line
]]

-- What no test makes: the captures here have no description of a serving engine's model,
-- and no workload that was shortened for its counters. What gets a capture leaves the list.
-- Those of files that older versions wrote are among these.
local unmade = set_of [[change.from change.key change.to selection.shortened step_group.mbu
  step_group.mfu collective_kernel.algorithm collective_kernel.protocol]]

local unmade_columns = set_of "steps.mbu steps.mfu"


-- ---- runs ----

local STAGES = 'stages = { { "prefill", children = { "vision" } }, { "decode", '
  .. 'step = "decode_step" } }, '

-- Two whole ranges as ncu prints them, with the FLOP of each kind.
local RANGES = [[
"ID","Process ID","Process Name","Host Name","thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg","Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes_read.sum","dram__bytes_write.sum","gpu__time_duration.sum","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","sm__throughput.avg.pct_of_peak_sustained_elapsed","gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed","smsp__sass_thread_inst_executed_op_fadd_pred_on.sum","smsp__sass_thread_inst_executed_op_fmul_pred_on.sum","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum","smsp__sass_thread_inst_executed_op_dadd_pred_on.sum","smsp__sass_thread_inst_executed_op_dmul_pred_on.sum","smsp__sass_thread_inst_executed_op_dfma_pred_on.sum","smsp__sass_thread_inst_executed_op_hadd_pred_on.sum","smsp__sass_thread_inst_executed_op_hmul_pred_on.sum","smsp__sass_thread_inst_executed_op_hfma_pred_on.sum","sm__ops_path_tensor_src_bf16_dst_fp32.sum","sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
"","","","","","","","","","","","","","byte","byte","ns","%","%","%","inst","inst","inst","inst","inst","inst","inst","inst","inst","","%"
"0","7","w","h","7  ""<default domain>:prefill:none:none:none:none:none:none"" ","","range","1","n/a","n/a","n/a","0","9.0","3000000","1000000","250000","42.5","17.25","40","1","2","3","1","2","3","1","2","3","1000","12.5"
]] -- luacheck: no max line length

-- Operators with a kernel, and an event that has no valid duration.
local OPERATORS = [==[{"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":9,"args":{"External id":2,
 "Input Dims":[[1,8],[8,4]]}},
{"ph":"X","cat":"kernel","name":"gemm","pid":1,"tid":1,"ts":2,"dur":3,"args":{"External id":2}},
{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":80,"dur":-1,"args":{}}]}]==]


local function results_of(ctx, failure)
  assert.is_nil(failure)
  return assert(json.load(ctx.run:path "results.json"))
end


-- A recorded capture: files of others (name -> path), and files (name -> text).
local function capture(folder, others, files)
  assert(fs.mkdirs(folder .. "/ncu"))
  for name, path in pairs(others) do assert(fs.copy(path, folder .. "/" .. name)) end
  for name, contents in pairs(files) do assert(fs.write(folder .. "/" .. name, contents)) end
  return "recorded=" .. folder
end


local function small(top, name, fields, words)
  local folder = ("%s/%s"):format(top, name)
  assert(fs.mkdirs(folder))
  return results_of(bundle.run_small(folder, STAGES .. (fields or ""), words))
end


-- Kernels that the recipe chose, FLOP that cannot be, advice that blocks.
local HOOKS = [[select_kernels = function(kernels) return { kernels[1] } end,
  flops = function() return { flops = 1e18, bytes = 1 } end,
  advise = function() return { { title = "t", try = "do", confidence = "high", blocking = true,
    evidence = { { text = "seen", source = "s" } } } } end,]]

-- The small capture as if it were of a serving engine.
local function of_engine()
  local trace, found = traces.open "small"
  local list = kernels.list(trace, found)
  list[1].name = "void vllm::rms_norm(float *)"
  breakdown.categorize(list)
  return analysis.results { run_id = "test", recipe = "r", source = {}, trace = trace,
    found = found, kernels = list, missing = {} }
end


-- A run whose ranges name modules and operators.
local function of_marks()
  local trace = timeline.of(marked)
  local found = stages.find(trace, { { name = "decode" } }, "no")
  local list = kernels.list(trace, found)
  breakdown.categorize(list)
  return analysis.results { run_id = "test", recipe = "r", source = {}, trace = trace,
    found = found, kernels = list, missing = {} }
end


-- A trace of torch.profiler with stacks.
local function of_lines()
  local trace = trace_file.open(LINES)
  local found = stages.find(trace, { { name = "prefill" },
    { name = "decode", step = "decode_step" } }, "no")
  local list = kernels.list(trace, found)
  breakdown.categorize(list)
  return analysis.results { run_id = "test", recipe = "r", source = {}, trace = trace,
    found = found, kernels = list, missing = {} }
end


-- The recorded capture as if it had more kernels than are listed.
local function of_many_names()
  local trace, listed = trace_file.open "tests/fixtures/deepseek_ocr/run.sqlite", kernels.LISTED
  local found = stages.find(trace, { { name = "prefill" }, { name = "sam", parent = "prefill" } },
    "no")
  kernels.LISTED = 1
  local list = kernels.list(trace, found)
  kernels.LISTED = listed
  breakdown.categorize(list)
  return analysis.results { run_id = "test", recipe = "r", source = {}, trace = trace,
    found = found, kernels = list, missing = {} }
end


-- Ranks of a pipeline of experts, of which names tell all places.
local function of_pipeline()
  local trace = timeline.of(pipelined.lines { stages = 2, width = 2, batches = 3,
    work = { 1000000, 1000000 }, kernel = "fused_moe_kernel", name = function(stage, place)
      return ("worker dp0_pp%d_tp%d_ep%d"):format(stage, place, place)
    end })
  local knowledge = rank_view.knowledge()
  return rank_view.results({ rank_part.of(trace, "run.sqlite", knowledge) }, knowledge, "test",
    { "rank9.sqlite: left out: it is cut" })
end


-- The capture of vLLM as if its requests said when they were sent: one after the other, from
-- its session's begin on; with a look at its page before and after.
local function of_requests(top)
  local shipped = "tests/fixtures/recorded/vllm_serve/"
  local metrics = assert(json.load(shipped .. "metrics.json"))
  local sent = trace_file.open(shipped .. "run.sqlite"):info().epoch
  local before = { utc_ns = sent, running = 1, waiting = 0, kv_use = 0.5, preemptions = 2 }
  for _, round in ipairs(metrics.repeats) do
    for _, request in ipairs(round.requests) do
      request.sent_utc_ns, sent = sent, sent + math.floor(request.ms * 1e6)
    end
  end
  local after = { utc_ns = sent, preemptions = 3 }
  metrics.engine_metrics = { path = "/metrics", samples = json.list { before, after } }
  local words = capture(top .. "/timed", { ["run.sqlite"] = shipped .. "run.sqlite",
    ["capture.json"] = shipped .. "capture.json" },
    { ["metrics.json"] = assert(json.encode(metrics)) })
  return results_of(bundle.run("recipes/vllm_serve.lua", top .. "/serve", { "capture=recorded",
    words }))
end


-- Four ranks, of which one has a clock of its own.
local function of_clocks()
  local parts = ranks.parts(ranks.four())
  parts[2] = ranks.shifted(parts[2], 5000000, 20e-6)
  return rank_view.results(parts, rank_view.knowledge(), "test", {})
end


-- Prefill and decode on ranks of their own, as tests/fixtures/split_pd.py makes them.
local function of_pair(top)
  local path, knowledge = top .. "/pair.sqlite", rank_view.knowledge()
  assert(assert(spawn.run({ "python3", "tests/fixtures/split_pd.py", ranks.VLLM, path },
    { timeout = 120 })).ok)
  return rank_view.results(ranks.parts { path }, knowledge, "test", {})
end


local function all_results(top)
  local trace = top .. "/t.pt.trace.json"
  assert(fs.write(trace, OPERATORS))
  local whole = capture(top .. "/unmarked", { ["run.sqlite"] =
    "tests/fixtures/unmarked/whole.sqlite" }, { ["capture.json"] = "{}" })
  local ranges = capture(top .. "/ranges", { ["run.sqlite"] = "tests/fixtures/small/run.sqlite" },
    { ["ncu/raw.csv"] = RANGES })
  local sized = top .. "/ranks"
  assert(assert(spawn.run({ sys.executable(), "ranks", "tests/fixtures/nccl2", "-o", sized },
    { stdout = top .. "/said", timeout = 120 })).ok)
  return {
    assert(json.load(sized .. "/results.json")), of_pipeline(), of_clocks(),
    of_requests(top), of_pair(top),
    results_of(bundle.run("recipes/deepseek_ocr.lua", top .. "/full", { "capture=recorded",
      "recorded=tests/fixtures/recorded/deepseek_ocr" })),
    results_of(bundle.run("recipes/deepseek_ocr.lua", top .. "/ncu", { "capture=recorded",
      "recorded=tests/fixtures/deepseek_ocr" })),
    results_of(bundle.run("recipes/alt_llm.lua", top .. "/whole", { "capture=recorded", whole })),
    results_of(bundle.run("tests/gpu/bounds.lua", top .. "/bounds", { "capture=recorded",
      "recorded=tests/fixtures/bounds" })),
    small(top, "plain", "", { "ncu.budget_s=1" }),
    small(top, "ranges", "", { ranges }),
    small(top, "hooks", HOOKS, { "hardware.peak_per_s=1e12", "hardware.bandwidth_bytes_per_s=1e12",
      "workload.operators_trace=" .. trace }),
    of_engine(), of_marks(), of_lines(), of_many_names(), sampled.results(),
    load_client.results(4, { page = load_client.page, failed = 3 }),
    assert(json.load(EAGER .. "/results.json")),
  }
end


-- ---- fields ----

-- What a rule refers to, its schema, and the name that its fields go by.
local function resolved(schema, rule, where)
  local target = rule["$ref"]
  if not target then return schema, rule, where end
  local other = target:match "^(%l+)%.schema%.json$"
  if other then return document.schema(other), document.schema(other), other end
  local name = target:match "[^/]+$"
  return schema, schema["$defs"][name], name
end


local declared_in


-- Every field below a rule, as "definition.field", into a set.
function declared_in(schema, rule, where, set, done)
  schema, rule, where = resolved(schema, rule, where)
  if done[rule] then return end
  done[rule] = true
  for name, field in pairs(rule.properties or {}) do
    set[where .. "." .. name] = true
    declared_in(schema, field, where .. "." .. name, set, done)
  end
  for _, inner in ipairs { rule.items or false, rule.additionalProperties or false } do
    if type(inner) == "table" then declared_in(schema, inner, where, set, done) end
  end
end


local measured_in


-- The same of the fields that a value has.
function measured_in(schema, rule, where, value, set)
  if type(value) ~= "table" then return end
  schema, rule, where = resolved(schema, rule, where)
  local inner = rule.items or rule.additionalProperties
  for key, item in pairs(value) do
    local field = rule.properties and rule.properties[key]
    if field then
      set[where .. "." .. key] = true
      measured_in(schema, field, where .. "." .. key, item, set)
    elseif type(inner) == "table" then
      measured_in(schema, inner, where, item, set)
    end
  end
end


-- ---- tables ----

-- The stages of the digest, whose first column is their name.
local function digest_stages(results)
  local made = assert(json.decode((assert(digest.render("json", results,
    { id = "x", dir = "x", name = "x" }, 1e6)))))
  for _, stage in ipairs(made.stages) do
    stage.label = stage.key
    for key, value in pairs(stage) do
      if value == json.null then stage[key] = nil end
    end
  end
  return made.stages
end


-- Rows of the tables that are no section of their own.
local function rows_by_table(results)
  local listed = {
    digest_stages = digest_stages(results),
    kernels = rows.kernels(results), roofline = rows.roofline(results),
    stage_kernels = rows.kernels(results), top_kernels = rows.kernels(results),
    largest_kernels = (rows.largest(results)),
    summary_stages = documents.stage_rows(results),
    summary_operators = rows.timeline_operators(results),
    stage_functions = sections.find("cpu_samples").rows(results),
    top_lines = rows.lines(results), counted_kernels = rows.kernels(results),
  }
  for _, section in ipairs(sections.all()) do
    listed[section.name] = section.rows(results)
  end
  return listed
end


-- Rows of `llmprof compare`, as its JSON has them.
local function compare_rows(top)
  local before, after = side.open(EAGER, "none"), side.open(GRAPH, "none")
  local made = comparison.make(before, after)
  made.limits = limits.check(limits.parse "decode.ms>+3%, ttft>+0%", before, after)
  local listed = {}
  for name, list in pairs(compared.object(made)) do listed["compare_" .. name] = list end
  local moved = top .. "/moved.json"
  assert(fs.write(moved, (assert(fs.read(LINES)):gsub("model%.py%(5%)", "model.py(6)")
    :gsub('"dur":4,', '"dur":5,'))))
  local by_line = comparison.make(side.open(LINES, "none"), side.open(moved, "none"))
  listed.compare_lines, listed.compare_modules = by_line.lines, by_line.modules
  return listed
end


local function sweep_rows(top)
  local list = {}
  for i, folder in ipairs { EAGER, top .. "/full" } do
    list[i] = { folder = folder, label = "batch=" .. i, short = "batch=" .. i, id = "run" .. i,
      status = "done", words = {} }
  end
  local made = sweep.rows(list)
  local loads = {}
  for i, rate in ipairs { 2, 4 } do
    loads[i] = { label = "load.rate=" .. rate, load = sweep.point(load_client.results(rate,
      { page = load_client.page, failed = i > 1 and 3 or nil })) }
  end
  return { sweep_runs = made.runs, sweep_stages = made.stages,
    sweep_loads = sweep.curve_rows(loads) }
end


local function baseline_rows(top)
  baselines.save(artifacts.open(top .. "/full", top), "main", top)
  baselines.use("main", top)
  local out = top .. "/baselines.json"
  assert(assert(spawn.run({ sys.executable(), "baseline", "list", "-f", "json", "--root", top },
    { stdout = out, timeout = 60 })).ok)
  return { baselines = assert(json.load(out)) }
end


-- Notes which columns of which tables have a value.
local function note_filled(filled, listed)
  for name, list in pairs(listed) do
    for _, column in ipairs(columns[name] or {}) do
      for _, row in ipairs(list) do
        local value = row[column.key]
        if value ~= nil and value ~= json.null and value ~= "" then
          filled[name .. "." .. column.key] = true
        end
      end
    end
  end
end


-- What is in a set and not in others, sorted, as text.
local function lacking(set, ...)
  local list = {}
  for name in pairs(set) do
    local known = false
    for _, other in ipairs { ... } do known = known or other[name] ~= nil end
    if not known then list[#list + 1] = name end
  end
  table.sort(list)
  return table.concat(list, " ")
end


-- What is made has no place in a list of what is not.
local function check_absent(given, filled)
  for name in pairs(given) do assert.is_nil(filled[name], name .. " is made here") end
end


-- Words that are gone, as patterns with _ for a space: other words say it better.
local GONE = [[aside beside com%a+_about crew fate gist host%-bound is_said_of party pauses pile
  products promises? scene shelf so_many stray stretch survey tally twins unasked
  waits?_for_launches whoever]]


local function without_scripts(page) return (page:gsub("<script.-</script>", "")) end


local function check_words(...)
  for _, said in ipairs { ... } do
    said = said:gsub("%s+", " "):lower()
    for word in GONE:gmatch "%S+" do
      local at = said:find("%f[%a]" .. word:gsub("_", " ") .. "%f[^%a]")
      assert.is_nil(at, at and said:sub(math.max(at - 80, 1), at + 40))
    end
  end
end


describe("a figure", function()
  local top, made

  setup(function()
    top = assert(fs.temp_dir "llmprof-test-")
    made = all_results(top)
  end)

  teardown(function() assert(fs.remove_tree(top)) end)

  it("that the schema declares is found out by some run", function()
    local schema, declared, measured = document.schema "results", {}, {}
    declared_in(schema, schema, "results", declared, {})
    for _, results in ipairs(made) do measured_in(schema, schema, "results", results, measured) end
    assert.equal("", lacking(declared, measured, elsewhere, unmade))
    check_absent(elsewhere, measured)
    check_absent(unmade, measured)
  end)

  it("is told in words that an engineer would say aloud", function()
    local entries = chapters.layout { "all" }
    for _, results in ipairs(made) do
      check_words(documents.full(results, entries), documents.stakeholder(results, entries),
        documents.kernels(results), without_scripts(documents.page(results, entries)),
        digest.render("text", results, { id = "x", dir = "x", name = "x" }, 1e6))
    end
  end)

  it("is told so while recorded runs go on, and at their end", function()
    for _, name in ipairs { "alt_llm", "deepseek_ocr", "vllm_serve" } do
      local folder = ("%s/said-%s"):format(top, name)
      assert(assert(spawn.run({ sys.executable(), name, "capture=recorded", "out=" .. folder },
        { stdout = folder .. ".out", stderr = folder .. ".err", timeout = 120 })).ok)
      check_words(fs.read(folder .. ".out"), fs.read(folder .. ".err"),
        fs.read(folder .. "/report.md"), fs.read(folder .. "/stakeholder_summary.md"),
        without_scripts(fs.read(folder .. "/report.html")))
    end
  end)

  it("that has a column has a value there", function()
    local filled, all = {}, {}
    for _, results in ipairs(made) do note_filled(filled, rows_by_table(results)) end
    for _, listed in ipairs { compare_rows(top), sweep_rows(top), baseline_rows(top) } do
      note_filled(filled, listed)
    end
    for name, declared in pairs(columns) do
      for _, column in ipairs(declared) do all[name .. "." .. column.key] = true end
    end
    assert.equal("", lacking(all, filled, elsewhere_columns, unmade_columns))
    check_absent(elsewhere_columns, filled)
    check_absent(unmade_columns, filled)
  end)
end)
