-- The load-latency curve of a sweep: how latency grows with the requests that come a
-- second, and its knee, the last load that the engine answers as fast as it comes.
--
-- The engine keeps up with a load when nine of ten requests are answered as fast as they
-- come (the last ones take their time, too), none failed, and TTFT's median is less than
-- three times the least of all loads. The knee is the highest such load; a lower one that
-- is slower says that something else went on.
local text = require "llmprof.text"

local curve = {}

local ANSWERED, SLOWER = 0.9, 3


-- What a run says of its load: nil without one.
function curve.point(results)
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


local function by_load(a, b) return a.offered_per_s < b.offered_per_s end


local function least_ttft(rows)
  local least
  for _, row in ipairs(rows) do
    if row.ttft_p50_ns then least = math.min(least or row.ttft_p50_ns, row.ttft_p50_ns) end
  end
  return least
end


-- Does the engine keep up with a load? least: the least TTFT of all.
local function keeps_up(row, least)
  return row.failed == 0
    and row.completed_per_s >= ANSWERED * (row.unqueued_per_s or row.offered_per_s)
    and not (row.ttft_p50_ns and row.ttft_p50_ns > SLOWER * least)
end


-- Mark the knee, where it is not the last row, what is beyond, and lower loads that are slow.
local function mark_rows(rows)
  local least, last = least_ttft(rows), 0
  for i, row in ipairs(rows) do
    if keeps_up(row, least) then last = i else row.mark = "slow" end
  end
  if last > 0 and last < #rows then rows[last].mark = "knee" end
  for i = last + 1, #rows do rows[i].mark = "beyond" end
end


-- Rows of the curve by load, the knee marked; {} for fewer than two loads. runs: rows with
-- `label` and `load` (of curve.point).
function curve.rows(runs)
  local rows = {}
  for _, run in ipairs(runs) do
    if run.load and run.load.offered_per_s then
      local row = { label = run.label, short = run.short }
      for key, value in pairs(run.load) do row[key] = value end
      rows[#rows + 1] = row
    end
  end
  if #rows < 2 then return {} end
  table.sort(rows, by_load)
  mark_rows(rows)
  return rows
end


local function rate(value) return text.number(value, 2) .. "/s" end


local function knee_of(rows)
  for i, row in ipairs(rows) do
    if row.mark == "knee" then
      return ("Knee: %s are answered as they come; of %s they are not, or wait three times as "
        .. "long."):format(rate(row.offered_per_s), rate(rows[i + 1].offered_per_s))
    end
  end
  if rows[#rows].mark == "beyond" then
    return ("No knee: even %s are more than is answered."):format(rate(rows[1].offered_per_s))
  end
  return ("No knee up to %s: sweep higher rates."):format(rate(rows[#rows].offered_per_s))
end


-- Where the knee is, in a sentence, and whether to believe it.
function curve.sentence(rows)
  local slow = 0
  for _, row in ipairs(rows) do slow = slow + (row.mark == "slow" and 1 or 0) end
  return knee_of(rows) .. (slow > 0 and (" %d lower rate%s slower than that: something else "
    .. "went on, so measure again."):format(slow, slow == 1 and " was" or "s were") or "")
end


-- TTFT over the load, as a Mermaid chart.
function curve.chart(rows)
  local loads, values = {}, {}
  for _, row in ipairs(rows) do
    if row.ttft_p50_ns then
      loads[#loads + 1] = ('"%s%s"'):format(rate(row.offered_per_s),
        row.mark == "knee" and " (knee)" or "")
      values[#values + 1] = ("%.6g"):format(row.ttft_p50_ns / 1e6)
    end
  end
  return ("```mermaid\nxychart-beta\n  title \"TTFT p50 over load\"\n  x-axis [%s]\n"
    .. "  y-axis \"ms\"\n  line [%s]\n```\n"):format(table.concat(loads, ", "),
      table.concat(values, ", "))
end


return curve
