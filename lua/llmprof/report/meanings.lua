-- What the columns of the reports' tables mean, below the headings of `llmprof help columns`.
local columns = require "llmprof.report.columns"

local meanings = {}

-- tables: those of llmprof.report.columns whose columns stand below it.
local headings = {
  { title = "Stages", tables = "stages summary_stages digest_stages",
    about = "Of report.md, the summary and the terminal, over the repeats that count." },
  { title = "The CPU", tables = "cpu categories",
    about = "And what it was in while the GPU was idle, by stage." },
  { title = "Load", tables = "load load_times engine_metrics",
    about = "Of requests sent at a rate or by another generator." },
  { title = "Where TTFT goes", tables = "first_token",
    about = "Means of the requests of a server. The engine's page (vLLM, SGLang) tells queue and "
      .. "prefill, and the network by the difference to what clients saw. The timeline tells them "
      .. "where metrics.json says when requests were sent: by the one step that can have prefilled "
      .. "a request, or by their order where as many tokens were prefilled as sent." },
  { title = "The KV cache over time", tables = "kv_cache",
    about = "By the engine's page, else by lines of its log. What a token takes follows from the "
      .. "model's layers, heads and number format; more requests fit as long as those that ran at "
      .. "the fullest sample." },
  { title = "Latency", tables = "latency repeats load load_times",
    about = "Of the workload's repeats." },
  { title = "Running cost", tables = "running_cost",
    about = "Of a GPU's price an hour (`price.per_hour`; an example of conf/hardware unless set), "
      .. "and of the energy that NVML counts or, without its counter, of the power it samples." },
  { title = "Efficiency", tables = "efficiency digest_stages",
    about = "MFU and MBU by stage. The model's work follows from its architecture, peaks from "
      .. "conf/hardware." },
  { title = "Hardware samples", tables = "sampled",
    about = "By stage, where they were taken (collector.samples_hz, nsys.gpu_metrics): percents of "
      .. "the most that the GPU can sustain, over time and without replay." },
  { title = "Modules and Operators", tables = "modules marked_layers marked_operators",
    about = "By the torch modules on the stacks of launches (Lines), else where NVTX ranges name "
      .. "them: --enable-layerwise-nvtx-tracing of vLLM, --enable-layerwise-nvtx-marker of SGLang, "
      .. "torch's emit_nvtx, or ranges named by a module's path. Inside CUDA graphs nothing is "
      .. "marked by ranges." },
  { title = "Lines", tables = "lines top_lines",
    about = "Which lines of the program launched what, where the trace has stacks: the innermost "
      .. "line on the stack that is in no framework (torch, triton, the engine's dispatch) and not "
      .. "in the standard library. Of torch.profiler it is the line where the function begins, of "
      .. "JAX that of the instruction, with its named_scope as module. Paths begin below "
      .. "site-packages; others have their last two parts. Threads without Python, as autograd's, "
      .. "have no lines." },
  { title = "CPU Samples", tables = "cpu_samples cpu_stacks stage_functions",
    about = "Where the timeline has samples (nsys.sample) or collapsed stacks were given "
      .. "(cpu_stacks): a flame graph for each stage and file, and its functions." },
  { title = "Operators of each stage", tables = "operator_stages",
    about = "Those with the longest CPU time in the operators pass." },
  { title = "Operators on the timeline",
    tables = "timeline_operators summary_operators operator_stages",
    about = "After joining their launches to the timeline, over the repeats that count." },
  { title = "The longest gaps", tables = "gaps",
    about = "The ten longest times in which the GPU did nothing, between the first and the last "
      .. "stage of a repeat." },
  { title = "Layers of a decode step", tables = "step_layers",
    about = "As help metrics explains." },
  { title = "What kernels could give back", tables = "headroom findings abstained silent",
    about = "And the findings (help advice)." },
  { title = "Whole ranges", tables = "ranges",
    about = "Where ncu.replay_mode is range or app-range, and launches of CUDA graphs that the "
      .. "collector measured. An empty cell was not measured." },
  { title = "Kernels",
    tables = "page_kernels kernels stage_kernels roofline top_kernels digest_stages ranges",
    about = "Largest first: kernels.md opens with the top_n.kernels largest over all stages; then "
      .. "a table for each stage, with a row for each kernel, device and part of the stage. "
      .. "Columns from counters on are of ncu or the collector and stand for the launches that "
      .. "were measured, each shape weighted by its calls." },
  { title = "Operators", tables = "operators operator_kernels",
    about = "Of the framework's own profiler, in a pass of its own: calls and times are that "
      .. "pass's, and Operators on the Timeline has this run's." },
  { title = "Environment", tables = "devices",
    about = "Of the trace." },
  { title = "Copies", tables = "transfers",
    about = "By stage and direction." },
  { title = "Selection, trust, overhead, what is missing",
    tables = "selection integrity overhead missing" },
  { title = "Comparison",
    tables = "compare_sides compare_differences compare_times compare_work compare_where "
      .. "compare_lines compare_modules compare_kernels compare_limits",
    about = "Shares of a change are of the sum of all changes, without their signs." },
  { title = "Baselines", tables = "baselines" },
  { title = "Sweep", tables = "sweep_loads sweep_runs sweep_stages" },
  { title = "Ranks",
    tables = "ranks pipeline rank_stages steps step_rows idle_threads collectives late layers "
      .. "rank_kernels rank_files requests request_rows kv_transfers engine_looks left_out",
    about = "Of llmprof show RUN SECTION; times are the GPU's." },
}

-- Calls visit(column) for those below a heading that say what they mean, of a title the first.
local function each_column(heading, visit)
  local seen = {}
  for name in heading.tables:gmatch "%S+" do
    for _, column in ipairs(columns[name]) do
      if column.meaning and not seen[column.title] then
        seen[column.title] = true
        visit(column)
      end
    end
  end
end


-- The headings, each { title, about, tables, and rows of title, meaning and key }. A column that
-- several show stands below the first.
function meanings.parts()
  local parts, listed = {}, {}
  for i, heading in ipairs(headings) do
    local part = { title = heading.title, about = heading.about, tables = heading.tables }
    each_column(heading, function(column)
      if listed[column] then return end
      listed[column] = true
      part[#part + 1] = { column.title, column.meaning, column.key }
    end)
    parts[i] = part
  end
  return parts
end


-- What columns of a table mean, a function of the column; nil where no heading of it says so.
function meanings.of(name)
  local known = {}
  for _, heading in ipairs(headings) do
    if (" " .. heading.tables .. " "):find(" " .. name .. " ", 1, true) then
      each_column(heading, function(column)
        known[column.title] = known[column.title] or column.meaning
      end)
    end
  end
  return function(column) return column.meaning or known[column.title] end
end


return meanings
