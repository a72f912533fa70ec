-- The options of commands that print tables, declared once.
local errors = require "llmprof.base.errors"

local table_options = {}

table_options.format = { "format", short = "f", arg = "FORMAT", default = "table",
  choices = { "table", "md", "csv", "json" }, help = "output format" }

table_options.rows = { "rows", short = "n", arg = "N", type = "integer",
  help = "print the first N rows only" }


function table_options.check_rows(given)
  if given.rows and given.rows < 1 then errors.raise("usage", "--rows: at least 1") end
end


-- The first N rows.
function table_options.first(rows, given)
  return table.move(rows, 1, math.min(given.rows or #rows, #rows), 1, {})
end


return table_options
