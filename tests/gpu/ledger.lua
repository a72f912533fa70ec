-- Predictions of llmprof whatif held against runs, in parts that ledger.sh goes through:
--
--   llmprof exec tests/gpu/ledger.lua runs before|after GPU GPUS  what is to run there, a line each
--   llmprof exec tests/gpu/ledger.lua host FOLDER        how FOLDER's processes differ, as JSON
--   llmprof exec tests/gpu/ledger.lua count              how many predictions there are
--   llmprof exec tests/gpu/ledger.lua predict FOLDER N   the N-th, as JSON
--   llmprof exec tests/gpu/ledger.lua gather FOLDER      all of them, as predictions.json
--   llmprof exec tests/gpu/ledger.lua row FOLDER JSON N  what came of the N-th, as JSON
--   llmprof exec tests/gpu/ledger.lua table FOLDER JSON  all of these, as rows of docs/ledger.md
--
-- Of a run NAME a second process is NAME.2. What is not there is said and costs its rows alone.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local model = require "llmprof.whatif.model"
local output = require "llmprof.io.output"
local overhead = require "llmprof.analysis.latency.overhead"
local session = require "llmprof.query.session"
local statistics = require "llmprof.statistics"
local whatif = require "llmprof.whatif"

local QWEN, LLAMA = "alt_llm model.preset=qwen3_8b", "alt_llm infer.cuda_graph=on"
local MOE, OCR = "alt_llm model.config=moe/config.json", "deepseek_ocr"
local SHORT, PRODUCTS = "alt_llm model.config=short/config.json", "fp8.lua"
local GRAPH, STATIC = "infer.cuda_graph=on", "infer.kv_cache=static"

-- By GPU: name, recipe and options, in the order in which they begin. A pair's runs have the same
-- GPU, and so the same cores.
local before = {
  {
    { "qwen1", QWEN }, { "qwen16s", QWEN, "infer.batch=16", STATIC },
    { "qwen16e", QWEN, "infer.batch=16 infer.attention=eager", GRAPH }, { "qwen1s", QWEN, STATIC },
    { "short1s", SHORT, STATIC }, { "qwen16", QWEN, "infer.batch=16", once = true },
  },
  {
    { "moe1", MOE }, { "ocr1", OCR }, { "moe1s", MOE, "infer.experts=gather", STATIC },
    { "llama4", LLAMA, "infer.batch=4" },
    { "ocr1s", OCR, "infer.experts=gather", STATIC }, { "moe16", MOE, "infer.batch=16" },
    { "products", PRODUCTS, "counters=on counters.set=light" },
    { "products8e", PRODUCTS, "fp8.on=on fp8.graph=off" },
    { "productsc", PRODUCTS, "fp8.batch=256 fp8.casts=on", once = true },
    { "llama64", LLAMA, "infer.batch=64", once = true },
  },
}

local after = {
  {
    { "qwen1g", QWEN, GRAPH }, { "qwen16g", QWEN, "infer.batch=16", GRAPH },
    { "qwen1n", QWEN, "infer.sync_per_token=off" }, { "qwen1k", QWEN, STATIC },
    { "short1c", SHORT, "infer.compile=reduce-overhead" }, { "qwen4", QWEN, "infer.batch=4" },
  },
  {
    { "moe1r", MOE, "infer.experts=grouped" }, { "ocr1r", OCR, "infer.experts=grouped" },
    { "moe1g", MOE, "infer.experts=gather", GRAPH },
    { "llama4n", LLAMA, "infer.batch=4 infer.sync_per_token=off" },
    { "ocr1g", OCR, "infer.experts=gather", GRAPH },
    { "moe16r", MOE, "infer.batch=16 infer.experts=grouped" },
    { "products8", PRODUCTS, "fp8.on=on" }, { "productsn", PRODUCTS, "fp8.batch=256" },
    { "llama16", LLAMA, "infer.batch=16" },
  },
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
  { "products", "bf16 to fp8, graph", "products", 'dtype "fp8"', "products8" },
  { "products", "fp8, eager to graph", "products8e", GRAPHS, "products8" },
  { "products", "casts there and back, graph", "productsc",
    'remove(kernels:where { stage = "decode", category = "copy/cast" })', "productsn" },
  { "two ranks", "one of them without 40 products in a layer", "late",
    'remove(kernels:where { line = { "~", "pairs.py:58" } })', "even" },
  { "two ranks", "all-reduces beside products", "wide", 'overlap(communication "decode")',
    "beside" },
}

local STAGE = "decode"


-- Those before once; those after twice, with the second of those before in between.
local function print_runs(what, gpu, gpus)
  local function one(run, again)
    if run then print(run[1] .. (again and ".2" or ""), table.unpack(run, 2)) end
  end
  for place = gpu + 1, #before, gpus do
    local first, later = before[place], after[place]
    for i = 1, math.max(#first, #later) do
      if what == "before" then
        one(first[i])
      else
        one(later[i])
        one(not (first[i] or {}).once and first[i], true)
        one(later[i], true)
      end
    end
  end
end


local function is_there(path) return fs.stat(path .. "/results.json") ~= nil end

local function print_json(value) print(errors.check(json.encode(value, { pretty = true }))) end

local function read_json(path)
  return fs.stat(path) and errors.check(json.decode(errors.check(fs.read(path))))
end


-- ---- the host ----

-- Launches of as many kinds have to be in two runs before they tell how fast the host was.
local LEAST_KINDS = 8

-- The part of pairs of processes whose difference an interval holds.
local HELD = 90

-- By how much the CPU's time differs between processes of one model in this session, by launches
-- that they share; of graphs nothing is launched one by one:
-- { pairs, median, noise (nine in ten differ by less), between (list of { one, other, factor }) }.
local function host(folder)
  local times, between, all = {}, {}, {}
  for _, own in ipairs(before) do
    for _, run in ipairs(own) do
      local path = folder .. "/" .. run[1]
      local is_eager = run[2] ~= PRODUCTS and not table.concat(run, " ", 2):find(GRAPH, 1, true)
      if is_eager and is_there(path) then
        local ok, made = pcall(function()
          return model.launch_times(session.open({ path }).files)
        end)
        if ok then times[#times + 1] = { name = run[1], of = run[2], launches = made } end
      end
    end
  end
  for i, one in ipairs(times) do
    for k = i + 1, #times do
      local found = one.of == times[k].of and whatif.host_of(one.launches, times[k].launches)
      if found and found.kinds >= LEAST_KINDS then
        between[#between + 1] = { one = one.name, other = times[k].name, factor = found.factor,
          kinds = found.kinds }
        all[#all + 1] = math.max(found.factor, 1 / found.factor) - 1
      end
    end
  end
  return { pairs = #all, between = json.list(between),
    median = #all > 0 and statistics.median(all) or nil,
    noise = #all > 0 and statistics.percentile(all, HELD) or nil }
end


-- ---- predictions ----

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


-- The interval that counts holds what processes of this session differ by, and no less than what
-- whatif holds by itself.
local function predicted(folder, one)
  local name, what, run, change, later, other = table.unpack(one)
  local path = folder .. "/" .. run
  local made = { model = name, what = what, before = run, other = other, change = change,
    after = later }
  if not is_there(path) or other and not is_there(folder .. "/" .. other) then
    made.refused = "not run before"
    return made
  end
  local ok, wrong = pcall(function()
    local n = change:match "^batch%((%d+)%)$"
    local question = n and whatif.between(
      session.open({ path, folder .. "/" .. other }).files, tonumber(n))
      or asked(path, change)
    local noise = (read_json(folder .. "/host.json") or {}).noise
    question.host_noise = noise
    local answer = question:run()
    local row, stage = row_of(answer), answer.model.by_name[STAGE]
    made.plain, made.steps, made.self_error = stage.plain or false, stage.units, stage.error
    made.found, made.noise = answer.changes[1].count, noise
    made.refused = row.refused
    made.now_ns, made.predicted_ns = row.now, row.after
    made.low_ns, made.high_ns = row.after_low, row.after_high
    made.shared_low_ns, made.shared_high_ns = row.shared_low, row.shared_high
    made.gpu_alone_ns = row.cpu_free
    local blind = answer.model:blind()
    made.blind = blind and blind.error
  end)
  if not ok then
    made.refused = tostring(type(wrong) == "table" and wrong.message or wrong):match "[^\n]*"
  end
  return made
end


local function part_of(folder, kind, n) return ("%s/%s.%d.json"):format(folder, kind, n) end

-- What was made of each pair, or else only what it is.
local function gathered(folder, kind)
  local all = {}
  for i, one in ipairs(pairs_of) do
    local ok, made = pcall(read_json, part_of(folder, kind, i))
    all[i] = ok and made or { model = one[1], what = one[2], before = one[3], change = one[4],
      after = one[5], other = one[6], refused = "it took too long" }
  end
  return all
end


-- ---- what came ----

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
    local ok, ns = pcall(function() return is_there(path) and step_ns(path, plain) end)
    times[#times + 1] = ok and ns or nil
  end
  return times
end


local function mean(times) return #times > 0 and statistics.sum(times) / #times or nil end

local function ms(value) return value and ("%.2f"):format(value / 1e6) or "" end

-- How the prediction fares at the speed of each later process's host: list of { factor, predicted,
-- low, high, came (ns, under the profiler), inside }.
local function at_speed(folder, one)
  local list = {}
  for _, name in ipairs { one.after, one.after .. ".2" } do
    local ok, rows = pcall(function()
      return not one.change:find "^batch" and is_there(folder .. "/" .. name)
        and whatif.outcome(session.open({ folder .. "/" .. one.before }).files,
          session.open({ folder .. "/" .. name }).files, one.change)
    end)
    for _, row in ipairs(ok and rows or {}) do
      if row.stage == STAGE and row.host then
        list[#list + 1] = { factor = row.host.factor, predicted = row.host.predicted,
          low = row.host.low, high = row.host.high, came = row.host.came,
          inside = row.host.inside }
      end
    end
  end
  return json.list(list)
end


-- The mean of some rows at the host's speed; nil without any.
local function mean_speed(list)
  if not list or #list == 0 then return nil end
  local sums = { factor = 0, predicted = 0, low = 0, high = 0, came = 0 }
  for _, row in ipairs(list) do
    for key, sum in pairs(sums) do sums[key] = sum + row[key] / #list end
  end
  sums.inside = sums.low <= sums.came and sums.came <= sums.high
  return sums
end


-- What came of one: its sign is wrong where a step takes longer after what was predicted to make it
-- shorter, or the reverse, against the mean of the runs before and of those again in turn; open,
-- where the interval held no gain, too.
local function outcome(folder, one)
  local made = { refused = one.refused }
  if one.refused then return made end
  made.before, made.after = json.list(came(folder, one.before, one.plain)),
    json.list(came(folder, one.after, one.plain))
  local length, again = mean(made.after), mean(made.before) or one.now_ns
  if not length then return made end
  made.inside = one.low_ns <= length and length <= one.high_ns
  made.off = one.predicted_ns / length - 1
  made.wrong_sign = (one.now_ns - one.predicted_ns) * (again - length) < 0
  made.open_sign = one.low_ns <= one.now_ns and one.now_ns <= one.high_ns
  made.host = at_speed(folder, one)
  return made
end


-- ---- rows ----

local function span(low, high) return ("%s to %s"):format(ms(low), ms(high)) end

local function bold_unless(inside, words) return inside and words or "**" .. words .. "**" end

local function row_words(one, made)
  local star = one.plain == false and " \\*" or ""
  local head = ("| %s%s | %s | "):format(one.model, star, one.what)
  if one.refused then return head .. "not predicted: " .. one.refused .. " | | | |" end
  local now, length = mean(made.before or {}), mean(made.after or {})
  local words = head .. ("%s%s | %s (%s) | "):format(ms(one.now_ns),
    now and (" (%s)"):format(ms(now)) or "", ms(one.predicted_ns), span(one.low_ns, one.high_ns))
  if not length then return words .. (made.refused or "not run") .. " | |" end
  local speed = mean_speed(made.host)
  return words .. bold_unless(made.inside, ms(length)) .. (made.wrong_sign and " wrong sign" or "")
    .. " | " .. (speed and ("%.2f: %s, %s"):format(speed.factor, ms(speed.predicted),
      bold_unless(speed.inside, ms(speed.came))) or "") .. " |"
end


-- Columns of docs/ledger.md.
local WIDTH = 100

-- Rows, and what they add up to.
local function render(folder, path)
  local said, came_of = read_json(path), gathered(folder, "row")
  local count = { all = 0, inside = 0, shared = 0, signs = 0, open = 0, speed = 0,
    speed_inside = 0 }
  local off, off_speed = {}, {}
  print "| model | change | before (both) | predicted | measured | at the host's speed, \\* |"
  print "|---|---|---:|---:|---:|---:|"
  for i, one in ipairs(said.predictions) do
    local made = came_of[i]
    print(row_words(one, made))
    local length, speed = mean(made.after or {}), mean_speed(made.host)
    if length and not one.refused then
      count.all, off[#off + 1] = count.all + 1, math.abs(made.off)
      count.inside = count.inside + (made.inside and 1 or 0)
      count.signs = count.signs + (made.wrong_sign and not made.open_sign and 1 or 0)
      count.open = count.open + (made.wrong_sign and made.open_sign and 1 or 0)
      local is_shared = one.shared_low_ns <= length and length <= one.shared_high_ns
      count.shared = count.shared + (is_shared and 1 or 0)
    end
    if speed then
      count.speed, off_speed[#off_speed + 1] = count.speed + 1,
        math.abs(speed.predicted / speed.came - 1)
      count.speed_inside = count.speed_inside + (speed.inside and 1 or 0)
    end
  end
  local function percent(list) return #list > 0 and statistics.median(list) * 100 or 0 end
  local machine = said.host or {}
  print("\n" .. output.wrap(("%d of %d are inside, as committed, %.0f %% off in the median; %d "
    .. "have the wrong sign, %d more where the interval left it open; %d are inside for a host "
    .. "that others use. At the later host's speed: %d of %d, %.0f %% off. Before the changes %d "
    .. "pairs of processes differ by %.0f %% in the median, nine in ten by less than %.0f %%.")
    :format(count.inside, count.all, percent(off), count.signs, count.open, count.shared,
    count.speed_inside, count.speed, percent(off_speed), machine.pairs or 0,
    (machine.median or 0) * 100, (machine.noise or 0) * 100), WIDTH))
end


local parts = {}

function parts.runs(what, gpu, gpus) print_runs(what, tonumber(gpu), tonumber(gpus)) end

function parts.host(folder) print_json(host(folder)) end

function parts.count() print(#pairs_of) end

function parts.predict(folder, n) print_json(predicted(folder, pairs_of[tonumber(n)])) end

function parts.gather(folder)
  print_json { host = read_json(folder .. "/host.json") or nil,
    predictions = json.list(gathered(folder, "predict")) }
end

function parts.row(folder, path, n)
  print_json(outcome(folder, read_json(path).predictions[tonumber(n)]))
end

function parts.table(folder, path) render(folder, path) end

if not parts[arg[1]] then
  error("ledger.lua runs|host|count|predict|gather|row|table", 0)
end
parts[arg[1]](table.unpack(arg, 2))
