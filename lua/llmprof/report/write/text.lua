-- Blocks as text for a terminal.
local blocks = require "llmprof.report.blocks"
local pictures = require "llmprof.report.pictures"
local tables = require "llmprof.tables"
local output = require "llmprof.io.output"
local text = require "llmprof.text"

local kinds = {}


local function inline(given)
  if type(given) == "string" then return given end
  local out = {}
  for i, run in ipairs(given) do
    out[i] = type(run) == "string" and run or run.strong or run.code
  end
  return table.concat(out)
end


function kinds.heading(block)
  return block.number and ("%s. %s"):format(block.number, block.title) or block.title
end


function kinds.paragraph(block, document)
  return output.wrap(inline(block.text), document.columns)
end


function kinds.verdict(block, document)
  local lines = {}
  for i, line in ipairs(block.lines) do lines[i] = line.head .. " " .. line.text end
  return output.wrap(table.concat(lines, "\n"), document.columns)
end


function kinds.tiles(block)
  local said = {}
  for i, tile in ipairs(block.list) do said[i] = tile.label .. " " .. tile.value end
  return table.concat(said, " · ")
end


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


function kinds.multiples(block)
  local lines = { block.label }
  for _, made in ipairs(block.panels) do
    lines[#lines + 1] = ("%s  %s  %s"):format(made.title, pictures.line(block, made),
      pictures.extent(block, made))
  end
  return table.concat(lines, "\n")
end


function kinds.flame(block)
  return block.label .. "\n" .. table.concat(pictures.tree_lines(block), "\n")
end


-- Pictures are not for a terminal; their figures stand in tables.
local function none() return "" end

kinds.chart, kinds.timeline = none, none


function kinds.code(block)
  return "    " .. (block.text:gsub("\n", "\n    "))
end


local join = blocks.writer(kinds, "\n\n")

-- columns: of a terminal that lines are to fit; nil for none.
return { name = "text", kinds = kinds, render = function(list, columns)
  return text.clean_lines(join(list, { columns = columns })) .. "\n"
end }
