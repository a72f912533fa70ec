-- A sweep: the combinations of its settings, and what it found: rows over them, as tables, and as
-- charts in sweep.md.
local columns = require "llmprof.report.columns"
local rows_of = require "llmprof.report.rows"
local overhead = require "llmprof.analysis.latency.overhead"
local json = require "llmprof.json"
local keys = require "llmprof.tables.keys"
local lists = require "llmprof.tables.lists"
local markdown = require "llmprof.markdown"
local metrics = require "llmprof.compare.metrics"
local side = require "llmprof.compare.side"
local tables = require "llmprof.tables"
local text = require "llmprof.text"
local digest = require "llmprof.digest"
local errors = require "llmprof.process.errors"

local sweep = {}


-- ---- the curve ----

-- The load-latency curve of a sweep: how latency grows with the requests that come a
-- second, and its knee, the last load that the engine answers as fast as it comes.
--
-- The engine keeps up with a load when nine of ten requests are answered as fast as they
-- come (the last ones take their time, too), none failed, and TTFT's median is less than
-- three times the least of all loads. The knee is the highest such load; a lower one that
-- is slower says that something else went on.

local ANSWERED, SLOWER = 0.9, 3


-- What a run says of its load: nil without one.
function sweep.point(results)
  local given = results.load
  if not given or not given.completed_per_s then return nil end
  local ttft, tpot, slo = given.ttft or {}, given.tpot or {}, given.slo or {}
  local engine = results.engine_metrics or {}
  return { offered_per_s = given.held_per_s or given.rate_per_s,
    completed_per_s = given.completed_per_s, unqueued_per_s = given.unqueued_per_s,
    tokens_per_s = given.tokens_per_s, ttft_p50_ns = ttft.p50_ns, ttft_p99_ns = ttft.p99_ns,
    tpot_p50_ns = tpot.p50_ns, tpot_p99_ns = tpot.p99_ns, good_per_s = slo.per_s,
    failed = given.failed, kv_max = engine.kv_use and engine.kv_use.max }
end


-- Rows of the curve by load, the knee marked where it is not the last row, what is beyond, and
-- lower loads that are slow; {} for fewer than two loads. runs: rows with `label` and `load` (of
-- sweep.point).
function sweep.curve_rows(runs)
  local rows = lists.map(runs, function(run)
    return run.load and run.load.offered_per_s
      and keys.merged({ label = run.label, short = run.short }, run.load) or nil
  end)
  if #rows < 2 then return {} end
  table.sort(rows, lists.by "offered_per_s")
  local quickest, last = lists.largest(rows, function(row)
    return row.ttft_p50_ns and -row.ttft_p50_ns
  end), 0
  for i, row in ipairs(rows) do
    local keeps_up = row.failed == 0
      and row.completed_per_s >= ANSWERED * (row.unqueued_per_s or row.offered_per_s)
      and (not row.ttft_p50_ns or row.ttft_p50_ns <= SLOWER * quickest.ttft_p50_ns)
    if keeps_up then last = i else row.mark = "slow" end
  end
  if last > 0 and last < #rows then rows[last].mark = "knee" end
  for i = last + 1, #rows do rows[i].mark = "beyond" end
  return rows
end


local function rate(value) return text.number(value, 2) .. "/s" end


-- Where the knee is, in a sentence, and whether to believe it.
function sweep.sentence(rows)
  local knee, beyond = lists.find(rows, "mark", "knee"), lists.find(rows, "mark", "beyond")
  local said = ("No knee up to %s: sweep higher rates."):format(rate(rows[#rows].offered_per_s))
  if knee then
    said = ("Knee: %s are answered as they come; of %s they are not, or wait three times as "
      .. "long."):format(rate(knee.offered_per_s), rate(beyond.offered_per_s))
  elseif beyond then
    said = ("No knee: even %s are more than is answered."):format(rate(rows[1].offered_per_s))
  end
  local slow = #lists.filtered(rows, function(row) return row.mark == "slow" end)
  return said .. (slow > 0 and (" %d lower rate%s slower than that: something else "
    .. "went on, so measure again."):format(slow, slow == 1 and " was" or "s were") or "")
end


-- ---- rows ----

local MFU = "efficiency.mfu.value"

-- entries: { label, short, id, folder, status ("done", "kept", "failed"), message }. The
-- figures are read from the runs that are done. Returns { runs, stages, loads }, rows.
function sweep.rows(entries)
  local made = { runs = {}, stages = {} }
  for i, entry in ipairs(entries) do
    local row = { label = entry.label, short = entry.short, status = entry.status,
      run = entry.id, message = entry.message }
    made.runs[i] = row
    if entry.status ~= "failed" then
      local opened = side.open(entry.folder, entry.folder)
      local results = opened.results
      for _, key in ipairs { "ttft", "tpot", "tokens_per_s", "cost", "energy" } do
        local value, basis = metrics.value(metrics.parse(key), opened)
        row[key], row.basis = value, row.basis or basis
      end
      row.currency = row.cost and keys.at(results, "running_cost.price.currency")
      row.mfu, row.load = keys.at(results, MFU), sweep.point(results)
      for _, stage in ipairs(results.stages) do
        local ms, basis = metrics.value(metrics.parse(stage.name .. ".ms"), opened)
        local _, idle = overhead.idle_of(results, stage)
        table.insert(made.stages, { label = entry.label, short = entry.short, stage = stage.name,
          parent = stage.parent, ms = ms, basis = basis, gpu_busy_ns = stage.gpu_busy_ns,
          idle_share = idle, kernels = stage.kernels, launches = stage.launches,
          mfu = keys.at(stage, MFU) })
      end
    end
  end
  made.loads = sweep.curve_rows(made.runs)
  return made
end


-- ---- trends ----

local function without_parent(rows)
  return lists.filtered(rows, function(row) return not row.parent end)
end


-- Series over the combinations: { title, unit, points = { { label, value } } };
-- those with two points or more.
function sweep.trends(made)
  local list = {}
  local function add(title, unit, rows, key)
    local points = lists.map(lists.filtered(rows, key), function(row)
      return { label = row.short, value = row[key] }
    end)
    if #points > 1 then list[#list + 1] = { title = title, unit = unit, points = points } end
  end
  for _, rows in ipairs((lists.grouped(without_parent(made.stages), "stage"))) do
    add(rows[1].stage, "ms", rows, "ms")
  end
  add("TPOT", "ms", made.runs, "tpot")
  add("throughput", "tokens/s", made.runs, "tokens_per_s")
  return list
end


-- ---- as text ----

-- Tables for the terminal, of that width or nil.
function sweep.text(made, width)
  local pieces = {}
  for _, entry in ipairs { { "sweep_runs", made.runs },
    { "sweep_stages", without_parent(made.stages) }, { "sweep_loads", made.loads } } do
    local name, rows = table.unpack(entry)
    pieces[#pieces + 1] = #rows > 0
      and tables.render("table", columns[name], rows, { columns = width }) or nil
  end
  if #made.loads > 0 then pieces[#pieces + 1] = sweep.sentence(made.loads) .. "\n" end
  return table.concat(pieces, "\n")
end


-- A Mermaid chart of "bar"s or of a "line".
local function chart(trend, kind)
  local function quoted(label) -- in double quotes, which it cannot escape
    return '"' .. text.clean(label):gsub('"', "'") .. '"'
  end
  local labels = lists.map(trend.points, function(point) return quoted(point.label) end)
  local values = lists.map(trend.points, function(point) return ("%.6g"):format(point.value) end)
  return ("```mermaid\nxychart-beta\n  title %s\n  x-axis [%s]\n  y-axis %s\n  %s [%s]\n```\n")
    :format(quoted(trend.title), table.concat(labels, ", "), quoted(trend.unit), kind,
      table.concat(values, ", "))
end


-- sweep.md. command: as people would type it.
function sweep.markdown(made, name, command)
  local pieces = { ("# Sweep of %s\n"):format(markdown.escape(name)),
    ("    %s\n"):format(command), tables.render("md", columns.sweep_runs, made.runs) }
  if #made.stages > 0 then
    pieces[#pieces + 1] = "## Stages\n"
    pieces[#pieces + 1] = tables.render("md", columns.sweep_stages, rows_of.with(made.stages,
      function(row) return { stage = (row.parent and "· " or "") .. row.stage } end))
  end
  if #made.loads > 0 then
    pieces[#pieces + 1] = "## Load and Latency\n"
    pieces[#pieces + 1] = sweep.sentence(made.loads) .. "\n"
    pieces[#pieces + 1] = tables.render("md", columns.sweep_loads, made.loads)
    local points = lists.map(lists.filtered(made.loads, "ttft_p50_ns"), function(row)
      return { value = row.ttft_p50_ns / 1e6,
        label = rate(row.offered_per_s) .. (row.mark == "knee" and " (knee)" or "") }
    end)
    pieces[#pieces + 1] = chart({ title = "TTFT p50 over load", unit = "ms", points = points },
      "line")
  end
  local trends = sweep.trends(made)
  if #trends > 0 then pieces[#pieces + 1] = "## Trends\n" end
  for _, trend in ipairs(trends) do pieces[#pieces + 1] = chart(trend, "bar") end
  return table.concat(pieces, "\n")
end


-- sweep.json: the same rows, unrounded.
function sweep.json(made)
  local object = json.ordered({ schema_version = 1, runs = json.list(made.runs),
    stages = json.list(made.stages), loads = json.list(made.loads) },
    { "schema_version", "runs", "stages", "loads" })
  return errors.check(json.encode(object, { pretty = true })) .. "\n"
end


-- ---- combinations of settings ----

-- Keys that name a run: the sweep sets them.
local own_keys = { ["out"] = true, ["run.id"] = true }

local MOST_NAME = 60 -- bytes of a run's name before its hash


-- The values of a text, at its outermost commas.
local function split(word)
  local masked, list, start = word, {}, 1
  for _, pair in ipairs { '%b""', "%b''", "%b[]", "%b{}", "%b()" } do
    masked = masked:gsub(pair, function(inside) return ("_"):rep(#inside) end)
  end
  for comma in masked:gmatch "()," do
    list[#list + 1] = word:sub(start, comma - 1)
    start = comma + 1
  end
  list[#list + 1] = word:sub(start)
  return list
end


-- ---- combinations ----

-- Fixed words, and axes { key, prefix ("key=" or "+key="), values }.
local function parse(words)
  local fixed, axes = {}, {}
  for _, word in ipairs(words) do
    local prefix, key, given = word:match "^(%+?([%w_%.-]+)=)(.*)$"
    if key and own_keys[key] then
      errors.raise("usage", ("sweep sets %s itself"):format(key),
        { hint = "run.root=DIR chooses where its folder lies" })
    end
    local values, seen = key and split(given) or {}, {}
    for _, value in ipairs(#values > 1 and values or {}) do
      if value == "" then
        errors.raise("usage", ("'%s': an empty value"):format(word),
          { hint = "infer.batch=1,4,16 are three values; [a,b] is one" })
      elseif seen[value] then
        errors.raise("usage", ("'%s': %s is there twice"):format(word, value))
      end
      seen[value] = true
    end
    if #values > 1 then
      axes[#axes + 1] = { key = key, prefix = prefix, values = values }
    else
      fixed[#fixed + 1] = word
    end
  end
  return fixed, axes
end


-- A run of these settings. id: "batch-4_preset-light-1a2b3c4d", what is swept, for people, and a
-- hash of everything that was set.
local function combination(fixed, settings)
  local words, label, short, pieces = lists.first(fixed), {}, {}, {}
  for i, setting in ipairs(settings) do
    words[#words + 1] = setting.prefix .. setting.value
    label[i] = ("%s=%s"):format(setting.key, setting.value)
    short[i] = label[i]:match("^[^=]*%.(.*)$") or label[i]
    local value = setting.value:gsub("[^%w.]+", "-"):gsub("^%-", ""):gsub("%-$", "")
    pieces[i] = ("%s-%s"):format(setting.key:match "[^.]+$", value)
  end
  local hash = digest.sha256(table.concat(words, "\0")):sub(1, 4)
    :gsub(".", function(byte) return ("%02x"):format(byte:byte()) end)
  return { words = words, label = table.concat(label, " "), short = table.concat(short, " "),
    id = ("%s-%s"):format(table.concat(pieces, "_"):sub(1, MOST_NAME), hash) }
end


-- words: settings as on the command line. Returns the combinations, the last axis
-- varying fastest: { words (settings of that run), label ("infer.batch=4 nsys=light"),
-- short ("batch=4 nsys=light"), id (name of its run) }. Without any axis that is an error.
function sweep.combinations(words)
  local fixed, axes = parse(words)
  if #axes == 0 then
    errors.raise("usage", "nothing to vary: no setting has several values",
      { hint = "llmprof sweep RECIPE.lua infer.batch=1,4,16" })
  end
  local list = { {} }
  for _, axis in ipairs(axes) do
    list = lists.flat(list, function(settings)
      return lists.map(axis.values, function(value)
        return lists.joined(settings, { { key = axis.key, prefix = axis.prefix, value = value } })
      end)
    end)
  end
  return lists.map(list, function(settings) return combination(fixed, settings) end)
end


return sweep
