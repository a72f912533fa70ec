-- Blocks as text for a terminal: the kinds that a digest has, whose texts have no runs.
local blocks = require "llmprof.report.blocks"
local tables = require "llmprof.tables"
local output = require "llmprof.io.output"
local text = require "llmprof.text"

local kinds = {}


function kinds.heading(block) return block.title end


function kinds.paragraph(block, document) return output.wrap(block.text, document.columns) end


-- Moves as numbered lines: what was found and seen, what to try, what it gains.
function kinds.moves(block, document)
  local lines = {}
  for i, move in ipairs(block.list) do
    lines[i] = ("%d. %s (confidence %s): %s\n   try%s: %s\n   gain: %s"):format(i, move.title,
      move.confidence, move.evidence[1].text, move.order and (" (%s)"):format(move.order) or "",
      move.try, move.gain)
  end
  return output.wrap(table.concat(lines, "\n"), document.columns)
end


function kinds.table(block, document)
  if #block.rows == 0 then return "" end
  return (tables.render("table", block.columns, block.rows, { columns = document.columns })
    :gsub("\n$", ""))
end


local join = blocks.writer(kinds, "\n\n")

-- columns: of a terminal that lines are to fit; nil for none.
return { name = "text", kinds = kinds, render = function(list, columns)
  return text.clean_lines(join(list, { columns = columns })) .. "\n"
end }
