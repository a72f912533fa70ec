-- A run in a few lines: what ran, how fast, what limits it, what to do first, how far to
-- trust it, what to ask next. For people as text, for programs as docs/digest.schema.json
-- describes it; both of the same document.
local blocks = require "llmprof.report.blocks"
local document = require "llmprof.io.document"
local findings = require "llmprof.report.findings"
local overhead = require "llmprof.analysis.latency.overhead"
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local rows = require "llmprof.report.rows"
local sections = require "llmprof.report.sections"
local text = require "llmprof.text"
local words = require "llmprof.report.words"
local writer = require "llmprof.report.write.text"

local digest = {}

-- How many of each list are told; the first that fits is taken.
local LEVELS = {
  { stages = 16, moves = 3, kernels = 5 }, { stages = 8, moves = 3, kernels = 3 },
  { stages = 4, moves = 3, kernels = 0 }, { stages = 3, moves = 1, kernels = 0 },
  { stages = 0, moves = 1, kernels = 0 }, { stages = 2, moves = 0, kernels = 0 },
  { stages = 0, moves = 0, kernels = 0 },
}


-- ---- the parts, without what is not known ----

local function model(results)
  local made, parameters = results.model or {}, (results.model or {}).parameters or {}
  return { name = words.model_name(results), dtype = made.dtype, weights = made.weights,
    parameters = parameters.total, active_parameters = parameters.active }
end


local function gpu(results)
  local devices = results.environment.devices or {}
  local name = (devices[1] or (results.environment.gpus or {})[1] or {}).name
  return { name = name, count = #devices > 0 and #devices or nil }
end


-- Sentences: of several ranks who waits for whom; what is wrong and what stages take.
local function verdict(lines)
  return lists.map(lines, function(line) return line.head .. " " .. line.text end)
end


local function latency(results)
  local times = overhead.latency_of(results)
  local made = { tpot_p50_ns = words.usual_step(times.tpot) }
  for key, of in pairs { ttft_ns = "ttft", tpot_ns = "tpot", tokens_per_s = "tokens_per_s" } do
    local time = times[of]
    made[key] = time and (time.first.mean_ns or time.first.mean)
    if time then made.profiled = made.profiled or time.plain == nil end
  end
  return made
end


-- Without a GPU the time is that of the CPU.
local function stages_of(results, most)
  local list = rows.first_stages(results, most)
  for _, row in ipairs(words.is_without_gpu(results) and list or {}) do
    row.time_ns = row.time_ns or row.host_ns
  end
  return list
end


local function stage(row)
  local made = { key = row.name }
  for _, key in ipairs { "parent", "time_ns", "profiled_ns", "gpu_busy_ns", "idle_share", "bound",
    "mfu", "mbu", "floor_ns" } do
    made[key] = row[key]
  end
  return made
end


local function key_of(finding) return finding.rule .. ":" .. (finding.stage or "") end


local function move(list, finding)
  local after = lists.map(finding.after or {}, function(rank) return key_of(list[rank]) end)
  return { key = key_of(finding), stage = finding.stage, finding = finding.title,
    evidence = finding.evidence[1].text, try = finding.try, after = after,
    gain_ns = finding.gain_ns, of_ns = finding.of_ns, assumption = finding.assumption,
    confidence = finding.confidence }
end


local function kernel(one)
  return { key = one.where .. ":" .. one.label, name = one.label, stage = one.where,
    calls = one.calls, total_ns = one.total_ns, share = one.share, bound = one.bound }
end


local function trust(results)
  return { verdict = keys.at(results, "integrity.verdict"),
    stage_share = keys.at(results, "totals.stage_share"),
    counters_share = keys.at(results, "counters.coverage") }
end


local function cost(results)
  local made = results.running_cost or {}
  local price = made.price or {}
  return { per_million_tokens = made.per_million_tokens, currency = price.currency,
    price_per_hour = price.per_hour, example = made.price and (price.example or false),
    energy_j_per_token = made.energy_j_per_token }
end


local function next_commands(name, results)
  local tables = { "stages", "findings", #results.kernels > 0 and "kernels -n 20" or nil }
  return lists.map(tables, function(of) return ("llmprof show %s %s"):format(name, of) end)
end


-- The first of a list, each as f makes it; how many are left out.
local function first(list, most, f)
  local made = lists.map(lists.first(list, most), f)
  return made, #list - #made
end


local function compose(results, run, level)
  local found, left, lines = findings.first(results), {}, findings.verdict(results)
  local made = { schema_version = 1, model = model(results), gpu = gpu(results),
    run = { id = run.id, recipe = results.run.recipe, folder = run.dir },
    verdict = verdict(lines), latency = latency(results), trust = trust(results),
    cost = cost(results), next = next_commands(run.name, results), left_out = left }
  made.stages = lists.map(stages_of(results, level.stages), stage)
  left.stages = #rows.stages(results) - #made.stages
  made.note = level.moves > 0 and results.advice and results.advice.note or nil
  made.moves = first(found, level.moves, function(one)
    return move(findings.list(results), one)
  end)
  left.moves = #findings.list(results) - #made.moves
  made.kernels, left.kernels = first(rows.kernels(results), level.kernels, kernel)
  return made
end


-- ---- as text ----

-- "Clients (vllm bench serve, 96 requests answered): TTFT 60.75 ms (p99 81.20 ms) · TPOT ..."; nil
-- without a load.
local function clients_line(results)
  local said = lists.map(sections.time_rows(results), function(time)
    return ("%s %s%s"):format(time.label, text.duration(time.mean_ns),
      time.p99_ns and (" (p99 %s)"):format(text.duration(time.p99_ns)) or "")
  end)
  local load = sections.load_rows(results)[1]
  if load and load.tokens_per_s then
    said[#said + 1] = text.number(load.tokens_per_s, 1) .. " tokens/s"
  end
  if #said == 0 then return nil end
  local answered = load.completed
    and (", %s answered"):format(words.several(load.completed, "request")) or ""
  return text.clean(("Clients (%s%s): %s"):format(load.label, answered,
    table.concat(said, " · ")))
end


local function table_of(name, list) return #list > 0 and sections.table(name, list) end


-- Of traces that somebody hands over what they cannot tell: "absent: counters: why"; nil where
-- there is nothing of that.
local function absent_lines(results)
  local timeline = results.source.timeline
  if not timeline or timeline.from ~= "files" then return nil end
  local lines = lists.map(results.missing, function(lack)
    local remedy = lack.why == "nothing describes the model" and ": --model names it" or ""
    return text.clean(("absent: %s: %s%s"):format(lack.what, lack.why, remedy))
  end)
  return #lines > 0 and table.concat(lines, "\n") or nil
end


local function as_text(results, run, level, width)
  local lines, _, trusted = findings.verdict(results)
  -- of what the autotuner tried, say, no time is kept
  local timed = lists.filtered(stages_of(results, level.stages), "time_ns")
  return writer.render(blocks.join(blocks.heading { level = 1,
      title = ("%s · %s"):format(words.title(results), text.clean(run.dir)) },
    blocks.say(table.concat(verdict(lines), "\n")), blocks.say(words.latency(results)),
    blocks.say(clients_line(results)), blocks.say(words.first_token(results, true)),
    blocks.say(words.kv_cache(results, true)), blocks.say(words.running_cost(results, true)),
    table_of("digest_stages", timed), findings.moves(results, level.moves),
    table_of("top_kernels", lists.first(rows.kernels(results), level.kernels)),
    blocks.say(trusted.head .. " " .. trusted.text), blocks.say(absent_lines(results)),
    blocks.say("next:\n  " .. table.concat(next_commands(run.name, results), "\n  "))), width)
end


local writers = { text = as_text, json = function(results, run, level)
  return document.encode("digest", compose(results, run, level), true)
end }


-- The digest as "text" or "json", with as much as fits. run: { id, dir, name }, name being
-- what commands call it; width: of the terminal that it is for, if it is. nil and the bytes that
-- the shortest takes where none fits.
function digest.render(format, results, run, most, width)
  local made
  for _, level in ipairs(LEVELS) do
    made = words.of_vendor(results, writers[format](results, run, level, width))
    if #made <= most then return made end
  end
  return nil, #made
end


return digest
