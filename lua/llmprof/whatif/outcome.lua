-- A prediction held against what came: the replay of the run before with a change, and the run
-- after it.
local tables = require "llmprof.tables"
local whatif = require "llmprof.whatif"

local outcome = {}


-- Sources of the runs before and after, and a change. Rows: { stage, now, predicted, low, high,
-- came (ns a unit), inside, off (of what came) } of stages that both have and that are predicted.
function outcome.rows(before, after, code)
  local question = whatif.over(before):change(code)
  local made, rows = question:run(), {}
  local came = whatif.over(after).model
  for _, row in ipairs(made.stages) do
    local stage = not row.rank and not row.refused and came.by_name[row.stage]
    if stage and row.gain ~= 0 then
      local length = stage.recorded / stage.units
      rows[#rows + 1] = { stage = row.stage, now = row.now, predicted = row.after,
        low = row.now - row.high, high = row.now - row.low, came = length,
        inside = row.now - row.high <= length and length <= row.now - row.low,
        off = row.after / length - 1 }
    end
  end
  return rows, made
end


local COLUMNS = {
  { key = "stage", title = "Stage" },
  { key = "now", title = "Before ms", type = "number", digits = 3, scale = 1e-6 },
  { key = "predicted", title = "Predicted ms", type = "number", digits = 3, scale = 1e-6 },
  { key = "between", title = "Between ms" },
  { key = "came", title = "Came ms", type = "number", digits = 3, scale = 1e-6 },
  { key = "off_percent", title = "Off %", type = "number", digits = 1 },
  { key = "verdict", title = "Verdict" },
}


-- The rows as a table of a format with headings, with its heading.
function outcome.render(format, rows, code)
  for _, row in ipairs(rows) do
    row.between = ("%.3f to %.3f"):format(row.low / 1e6, row.high / 1e6)
    row.off_percent, row.verdict = row.off * 100, row.inside and "inside" or "outside"
  end
  for _, one in ipairs(tables.formats()) do
    if one.name == format then
      local heading = ("%sPredicted by %s\n\n"):format(one.heading, one.escape(code))
      if #rows == 0 then return heading .. "No stage was predicted to change.\n" end
      return heading .. tables.render(format, COLUMNS, rows)
    end
  end
end


return outcome
