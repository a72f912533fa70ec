-- Predictions of llmprof whatif held against runs, in three parts that ledger.sh goes through:
--
--   llmprof exec tests/gpu/ledger.lua runs before|after  what is to be run, a line each
--   llmprof exec tests/gpu/ledger.lua predict FOLDER     predictions from FOLDER's runs, as JSON
--   llmprof exec tests/gpu/ledger.lua table FOLDER JSON  what came, as rows of docs/ledger.md
--
-- Of a run NAME a second process is NAME.2.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local overhead = require "llmprof.analysis.latency.overhead"
local session = require "llmprof.query.session"
local statistics = require "llmprof.statistics"
local whatif = require "llmprof.whatif"

local QWEN, LLAMA = "alt_llm model.preset=qwen3_8b", "alt_llm infer.cuda_graph=on"
local MOE = "alt_llm model.config=moe/config.json"
local GRAPH, STATIC = "infer.cuda_graph=on", "infer.kv_cache=static"

-- Name, recipe and options, in the order in which they begin.
local before = {
  { "qwen1", QWEN }, { "moe1", MOE }, { "ocr1", "deepseek_ocr" },
  { "llama4", LLAMA, "infer.batch=4" },
  { "qwen16s", QWEN, "infer.batch=16", STATIC }, { "moe1s", MOE, "infer.experts=gather", STATIC },
  { "ocr1s", "deepseek_ocr infer.experts=gather", STATIC }, { "moe16", MOE, "infer.batch=16" },
  { "short1s", "alt_llm model.config=short/config.json", STATIC }, { "products", "fp8.lua" },
  { "qwen16e", QWEN, "infer.batch=16 infer.attention=eager", GRAPH }, { "qwen1s", QWEN, STATIC },
  { "llama64", LLAMA, "infer.batch=64", once = true },
  { "qwen16", QWEN, "infer.batch=16", once = true },
}

local after = {
  { "qwen1g", QWEN, GRAPH }, { "moe1r", MOE, "infer.experts=grouped" },
  { "ocr1r", "deepseek_ocr infer.experts=grouped" },
  { "llama4n", LLAMA, "infer.batch=4 infer.sync_per_token=off" },
  { "qwen16g", QWEN, "infer.batch=16", GRAPH }, { "moe1g", MOE, "infer.experts=gather", GRAPH },
  { "ocr1g", "deepseek_ocr infer.experts=gather", GRAPH },
  { "moe16r", MOE, "infer.batch=16 infer.experts=grouped" },
  { "short1c", "alt_llm model.config=short/config.json infer.compile=reduce-overhead" },
  { "qwen1n", QWEN, "infer.sync_per_token=off" }, { "qwen1k", QWEN, STATIC },
  { "llama16", LLAMA, "infer.batch=16" }, { "qwen4", QWEN, "infer.batch=4" },
  { "products8", "fp8.lua fp8.on=on" },
}

local GRAPHS = 'graphs("decode")'
local GROUPED = 'grouped(experts "decode") + remove(syncs("decode", "inner"))'
local FUSED = GRAPHS .. ' + fuse(kernels:where { { "stage", "==", "decode" }, '
  .. '{ "category", "!=", "gemm" }, { "category", "!=", "attention" } })'

-- Model, what is changed, the run before, its change, the run after; of a batch two runs.
local pairs_of = {
  { "Qwen3-8B", "eager to graph, batch 1", "qwen1", GRAPHS, "qwen1g" },
  { "Qwen3-8B", "the same, cache in place before, too", "qwen1s", GRAPHS, "qwen1g" },
  { "Qwen3-8B", "eager to graph, batch 16", "qwen16s", GRAPHS, "qwen16g" },
  { "Qwen3-8B", "batch 4, from 1 and 16, eager", "qwen1", "batch(4)", "qwen4", "qwen16" },
  { "Qwen3-8B", "no wait for each token, eager", "qwen1", 'remove(syncs "decode")', "qwen1n" },
  { "Qwen3-8B", "KV cache in place, eager", "qwen1",
    'remove(kernels:where { stage = "decode", ["function"] = "DynamicCache.update" })', "qwen1k" },
  { "Qwen3-8B", "attention in parts to sdpa, batch 16, graph", "qwen16e",
    'fuse(kernels:where { stage = "decode", ["function"] = "attend" })', "qwen16g" },
  { "Llama-3-8B", "batch 16, from 4 and 64, graph", "llama4", "batch(16)", "llama16", "llama64" },
  { "Llama-3-8B", "no wait for each token, batch 4, graph", "llama4", 'remove(syncs "decode")',
    "llama4n" },
  { "DeepSeek-OCR", "experts one by one to grouped", "ocr1", GROUPED, "ocr1r" },
  { "DeepSeek-OCR", "eager to graph", "ocr1s", GRAPHS, "ocr1g" },
  { "Qwen3-MoE", "experts one by one to grouped", "moe1", GROUPED, "moe1r" },
  { "Qwen3-MoE", "the same, batch 16", "moe16", GROUPED, "moe16r" },
  { "Qwen3-MoE", "eager to graph", "moe1s", GRAPHS, "moe1g" },
  { "Qwen3, 6 layers", "eager to compiled, with graphs", "short1s", FUSED, "short1c" },
  { "products", "bf16 to fp8, graph", "products",
    'scale(kernels:where { stage = "decode", category = "gemm" }, 0.5)', "products8" },
  { "two ranks", "one of them without 40 products in a layer", "late",
    'remove(kernels:where { line = { "~", "pairs.py:55" } })', "even" },
}

local STAGE = "decode"


-- Those before once; those after twice, with the second of those before in between.
local function list(what)
  local function one(run, again)
    if run then print(run[1] .. (again and ".2" or ""), table.unpack(run, 2)) end
  end
  for i = 1, math.max(#before, #after) do
    if what == "before" then
      one(before[i])
    else
      one(after[i])
      one(not (before[i] or {}).once and before[i], true)
      one(after[i], true)
    end
  end
end


local function row_of(answer)
  for _, row in ipairs(answer.stages) do
    if row.stage == STAGE and not row.rank then return row end
  end
end


-- Of a run, its changes with ` + ` between them.
local function asked(path, change)
  local question = whatif.open { path }
  for code in (change .. " + "):gmatch "(.-) %+ " do question = question:change(code) end
  return question
end


local function predicted(folder, one)
  local model, what, name, change, later, other = table.unpack(one)
  local path = folder .. "/" .. name
  local made = { model = model, what = what, before = name, other = other, change = change,
    after = later }
  local ok, wrong = errors.call(function()
    local n = change:match "^batch%((%d+)%)$"
    local answer = n and whatif.between({ path, folder .. "/" .. other }, tonumber(n)):run()
      or asked(path, change):run()
    local row, stage = row_of(answer), answer.model.by_name[STAGE]
    made.plain, made.steps, made.self_error = stage.plain or false, stage.units, stage.error
    made.found = answer.changes[1].count
    made.refused = row.refused
    made.now_ns, made.predicted_ns = row.now, row.after
    made.low_ns, made.high_ns = row.after_low, row.after_high
    made.gain_low_ns, made.gain_high_ns = row.low, row.high
    local blind = answer.model:blind()
    made.blind = blind and blind.error
  end)
  if not ok then made.refused = tostring(wrong.message or wrong) end
  return made
end


local function predict(folder)
  local all = {}
  for i, one in ipairs(pairs_of) do all[i] = predicted(folder, one) end
  print(errors.check(json.encode({ predictions = json.list(all) }, { pretty = true })))
end


-- Nanoseconds of a step in a run, without the profiler where the prediction was; nil: not known.
local function step_ns(path, plain)
  if not plain then
    local stage = whatif.open({ path }).model:stage(STAGE)
    return stage and stage.recorded / stage.units
  end
  local results = errors.check(json.decode(errors.check(fs.read(path .. "/results.json"))))
  for _, stage in ipairs(results.stages) do
    local ns = stage.name == STAGE and overhead.plain_ns(results, stage)
    if ns then return ns / stage.steps end
  end
end


-- The same of the processes of a run.
local function came(folder, name, plain)
  local times = {}
  for _, path in ipairs { folder .. "/" .. name, folder .. "/" .. name .. ".2" } do
    times[#times + 1] = fs.stat(path .. "/results.json") and step_ns(path, plain) or nil
  end
  return times
end


local function mean(times) return #times > 0 and statistics.sum(times) / #times or nil end

local function ms(value) return value and ("%.2f"):format(value / 1e6) or "" end

local function all_ms(times)
  local words = {}
  for i, value in ipairs(times) do words[i] = ms(value) end
  return table.concat(words, ", ")
end


-- How the prediction fares at the speed of each later process's host: factors, predicted and what
-- came under the profiler, and how many of them lie inside.
local function at_speed(folder, one)
  local words, inside, count = {}, 0, 0
  for _, name in ipairs { one.after, one.after .. ".2" } do
    if not one.change:find "^batch" and fs.stat(folder .. "/" .. name .. "/results.json") then
      local rows = whatif.outcome(session.open({ folder .. "/" .. one.before }).files,
        session.open({ folder .. "/" .. name }).files, one.change)
      for _, row in ipairs(rows) do
        if row.stage == STAGE and row.host then
          words[#words + 1] = ("%.2f: %s, %s"):format(row.host.factor, ms(row.host.predicted),
            ms(row.host.came))
          inside, count = inside + (row.host.inside and 1 or 0), count + 1
        end
      end
    end
  end
  return ("%s | %d of %d"):format(table.concat(words, "; "), inside, count)
end


local function render(folder, path)
  local said = errors.check(json.decode(errors.check(fs.read(path))))
  for _, one in ipairs(said.predictions) do
    local times, verdict, speed = {}, one.refused, ""
    if not one.refused then
      times = came(folder, one.after, one.plain)
      local length = mean(times)
      verdict = not length and "not run"
        or one.low_ns <= length and length <= one.high_ns and "inside" or "outside"
      speed = length and at_speed(folder, one) or ""
    end
    print(("| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |"):format(one.model, one.what,
      ms(one.now_ns), all_ms(came(folder, one.before, one.plain)), ms(one.predicted_ns),
      one.low_ns and ms(one.low_ns) .. " to " .. ms(one.high_ns) or "", all_ms(times),
      #times > 0 and ("%+.0f %%"):format((one.predicted_ns / mean(times) - 1) * 100) or "", verdict,
      speed))
  end
end


if arg[1] == "runs" then list(arg[2])
elseif arg[1] == "predict" then predict(arg[2])
elseif arg[1] == "table" then render(arg[2], arg[3])
else error("ledger.lua runs|predict|table", 0) end
