-- What a replay answered, as text and as JSON: the gain of each stage, what it rests on, and how
-- well the replay without a change fits.
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local merged = require("llmprof.tables.keys").merged
local sorted_keys = require("llmprof.tables.keys").sorted
local output = require "llmprof.io.output"
local sys = require "llmprof.sys"
local tables = require "llmprof.tables"
local text = require "llmprof.text"

local answer = {}


local function ms(value) return (("%.3f"):format(value / 1e6):gsub("^%-(0%.000)$", "%1")) end


local GAINS = {
  { key = "stage", title = "Stage" },
  { key = "rank", title = "Rank", type = "id", optional = true },
  { key = "units", title = "Steps", type = "integer" },
  { key = "now", title = "Now ms", type = "number", digits = 3, scale = 1e-6 },
  { key = "after", title = "Then ms", type = "number", digits = 3, scale = 1e-6 },
  { key = "gain", title = "Gain ms", type = "number", digits = 3, scale = 1e-6 },
  { key = "interval", title = "Between ms" },
  { key = "percent", title = "Gain %", type = "number", digits = 1 },
  { key = "limit", title = "Then limited by" },
  { key = "gpu_free", title = "Free GPU ms", type = "number", digits = 3, scale = 1e-6 },
  { key = "cpu_free", title = "Free CPU ms", type = "number", digits = 3, scale = 1e-6 },
}


local FIT = {
  { key = "name", title = "Stage" },
  { key = "units", title = "Steps", type = "integer" },
  { key = "recorded", title = "Recorded ms", type = "number", digits = 3, scale = 1e-6 },
  { key = "replayed", title = "Replayed ms", type = "number", digits = 3, scale = 1e-6 },
  { key = "percent", title = "Error %", type = "number", digits = 3 },
  { key = "waits", title = "Waits ms", type = "number", digits = 3, scale = 1e-6 },
  { key = "unexplained", title = "Unexplained ms", type = "number", digits = 3, scale = 1e-6 },
  { key = "derived", title = "Worked out %", type = "number", digits = 1 },
}


local function shown(rows)
  return lists.map(rows, function(row)
    return merged(row, { percent = row.share and row.share * 100,
      interval = row.low and ("%s to %s"):format(ms(row.low), ms(row.high)) })
  end)
end


-- Of the CPU's time, that of waits is worked out; the rest is taken as recorded.
local function percent(part, whole) return whole > 0 and part / whole * 100 or 0 end


local function fit_rows(model)
  return lists.map(model.stages, function(stage)
    return { name = stage.name, units = stage.units, recorded = stage.recorded,
      replayed = stage.replayed, percent = stage.error and stage.error * 100,
      waits = stage.waits, unexplained = stage.unexplained,
      derived = percent(stage.waits - stage.unexplained, stage.replayed) }
  end)
end


-- How far the replay can be trusted, in sentences.
local function trust_lines(model)
  local basis = model.basis
  local idle, replayed_idle = model.recorded_window - model.recorded_busy, model.window - model.busy
  local lines = {
    ("The replay rests on %s calls and %s operations%s."):format(text.count(basis.calls),
      text.count(basis.operations), basis.collectives > 0
        and (", %s collectives of several ranks"):format(text.count(basis.collectives)) or ""),
    ("Of the CPU's time it works out %.1f %%; the rest is taken as recorded."):format(
      percent(basis.derived, basis.cpu)),
    ("Without a change, waits take %s ms (recorded %s), and the GPU is idle for %s ms (recorded "
      .. "%s)."):format(ms(model.replayed_waits), ms(model.recorded_waits), ms(replayed_idle),
      ms(idle)),
  }
  local blind = model:blind()
  lines[#lines + 1] = blind
    and ("A step whose CPU times are taken from the others is %.1f %% off (median of %d)."):format(
      blind.error * 100, blind.units)
    or "Fewer than four steps are alike, so that none could be predicted from the others."
  if model.missing > 0 then
    lines[#lines + 1] = ("%s dependencies were not there when they were needed."):format(
      text.count(model.missing))
  end
  return lines
end


-- Kinds of changes that docs/ledger.md holds against runs.
local HELD = { graphs = true, remove = true, grouped = true, fuse = true, batch = true,
  dtype = true, overlap = true }

local function record_lines(format, made)
  local plain, all = #lists.filtered(made.model.stages, "plain"), #made.model.stages
  local lines = { ("Times are %s the profiler, if the host stays as fast."):format(
    plain == 0 and "under" or plain == all and "without"
      or "under, and where they were timed without") }
  for _, row in ipairs(made.stages) do
    if row.gain and row.gain ~= 0 and not row.rank then
      local line = ("In another process %s then takes %s to %s ms, where others use the host, too, "
        .. "%s to %s."):format(row.stage, ms(row.after_low), ms(row.after_high),
        ms(row.shared_low), ms(row.shared_high))
      lines[#lines + 1] = format.escape(line)
    end
  end
  local said = {}
  for _, change in ipairs(made.changes) do
    local line = HELD[change.kind] and "How such predictions turned out: llmprof help ledger."
      or "No such prediction was checked against a run yet."
    if not said[line] then lines[#lines + 1] = line end
    said[line] = true
  end
  return lines
end


local function to_text(format, made)
  local heading, lines = format.heading, {}
  local options = { columns = format.name == "table" and sys.isatty(1) and sys.columns() or nil }
  local function add(line) lines[#lines + 1] = line end
  local function say(line) add(output.wrap(line, options.columns)) end
  if made.changes then
    add(heading .. "What If\n")
    for _, change in ipairs(made.changes) do
      say(format.escape(("%s: %s found. Assumed: %s."):format(change.words,
        text.count(change.count), change.assumed)))
      if change.rests then say(format.escape(("It rests on %s."):format(change.rests))) end
    end
    add("")
    add(tables.render(format.name, GAINS, shown(made.stages), options))
    for _, line in ipairs(record_lines(format, made)) do say(line) end
    add("")
  end
  add(heading .. "How Well the Replay Fits\n")
  add(tables.render(format.name, FIT, fit_rows(made.model), options))
  for _, stage in ipairs(made.model.stages) do
    if stage.refused then
      say(format.escape(("%s is not predicted: %s."):format(stage.name, stage.refused)))
    end
  end
  for _, line in ipairs(trust_lines(made.model)) do say(line) end
  return table.concat(lines, "\n") .. "\n"
end


local FIT_FIELDS = { "name", "units", "recorded", "replayed", "error", "waits", "unexplained",
  "refused" }

local TIMES = lists.set { "now", "after", "after_low", "after_high", "shared_low", "shared_high",
  "gain", "low", "high", "gpu_free", "cpu_free", "recorded", "replayed", "waits", "unexplained" }

-- Fields of a row for JSON, all of them (nil) or some, in which times say that they are ns.
local function object_of(row, fields)
  local object = {}
  for _, field in ipairs(fields or sorted_keys(row)) do
    object[TIMES[field] and field .. "_ns" or field] = row[field]
  end
  return object
end


local function to_json(made)
  local model = made.model
  local object = { schema_version = 1, stages = made.changes and json.list {}, fit = json.list {},
    changes = made.changes and json.list {}, basis = model.basis, missing = model.missing,
    waits = { recorded_ns = model.recorded_waits, replayed_ns = model.replayed_waits },
    idle = { recorded_ns = model.recorded_window - model.recorded_busy,
      replayed_ns = model.window - model.busy },
    blind = model:blind() }
  for i, row in ipairs(made.stages or {}) do object.stages[i] = object_of(row) end
  for i, stage in ipairs(model.stages) do object.fit[i] = object_of(stage, FIT_FIELDS) end
  for i, one in ipairs(made.changes or {}) do object.changes[i] = one end
  return errors.check(json.encode(object, { pretty = true })) .. "\n"
end


-- format: the name of one of tables.formats with headings, or "json".
function answer.render(format, made)
  if format == "json" then return to_json(made) end
  return to_text(tables.format(format), made)
end


return answer
