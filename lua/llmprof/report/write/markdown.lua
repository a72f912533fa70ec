-- Blocks as Markdown.
local blocks = require "llmprof.report.blocks"
local lists = require "llmprof.tables.lists"
local markdown = require "llmprof.markdown"
local pictures = require "llmprof.report.pictures"
local tables = require "llmprof.tables"

local kinds = {}

local escape = markdown.escape


-- Escaped as a part of a line: blanks at its ends are blanks.
local function part(text)
  local before, inner, after = text:match "^( *)(.-)( *)$"
  return before .. (inner == "" and "" or escape(inner)) .. after
end


-- A text or its runs, escaped.
local function inline(text)
  if type(text) == "string" then return escape(text) end
  return table.concat(lists.map(text, function(run)
    return type(run) == "string" and part(run) or ("**%s**"):format(escape(run.strong))
  end))
end


function kinds.heading(block)
  return ("%s %s\n"):format(("#"):rep(block.level), escape(block.title))
end


function kinds.paragraph(block) return inline(block.text) .. "\n" end


function kinds.verdict(block)
  local lines = lists.map(block.lines, function(line)
    return ("%s **%s** %s"):format(block.tight and "-" or ">", escape(line.head),
      escape(line.text)):match "^.*%S"
  end)
  return table.concat(lines, block.tight and "\n" or "\n>\n") .. "\n"
end


local function in_full(number, move)
  local evidence = lists.map(move.evidence, function(item)
    return ("- %s (%s)"):format(escape(item.text), escape(item.source))
  end)
  return ("### %d. %s\n\n%s\n\nTry%s: %s.\n\nGain: %s. Confidence: %s. Rule: %s.\n"):format(
    number, escape(move.title), table.concat(evidence, "\n"),
    move.order and (" (%s)"):format(move.order) or "", escape(move.try), escape(move.gain),
    move.confidence, markdown.code(move.rule))
end


-- In a line.
local function brief(number, move)
  return ("%d. **%s** (%sconfidence %s). %s: %s. Gain: %s."):format(number, escape(move.title),
    move.effort and ("effort: %s, "):format(move.effort) or "", move.confidence,
    move.order and ("Try (%s)"):format(move.order) or "Try", escape(move.try), escape(move.gain))
end


function kinds.moves(block)
  local out, make = {}, block.brief and brief or in_full
  for i, move in ipairs(block.list) do out[i] = make(i, move) end
  return table.concat(out, "\n") .. (block.brief and "\n" or "")
end


-- Footnotes are numbered through the document: two of one number would be one.
function kinds.table(block, document)
  document.notes = document.notes or { count = 0 }
  return tables.render("md", blocks.filled(block), block.rows, { notes = document.notes })
end


-- Where Mermaid has such a chart: the figures stand in tables, too.
function kinds.chart(block) return block.picture and block.picture() or "" end

function kinds.timeline() return "" end

function kinds.tiles() return "" end


function kinds.multiples(block)
  local lines = lists.map(block.panels, function(made)
    return ("- %s: %s (%s)\n"):format(escape(made.title),
      markdown.code(pictures.line(block, made)), escape(pictures.extent(block, made)))
  end)
  return ("%s.\n\n%s"):format(escape(block.label), table.concat(lines))
end


-- The stack that most samples were taken in, the innermost function last.
function kinds.flame(block)
  local hottest = pictures.hottest(block)
  if not hottest then return "" end
  local lines = { escape(hottest.text) .. "\n" }
  for _, name in ipairs(hottest.lines) do lines[#lines + 1] = "- " .. markdown.code(name) end
  return table.concat(lines, "\n") .. "\n"
end


function kinds.code(block) return ("    %s\n"):format((block.text:gsub("\n", "\n    "))) end


return { name = "md", kinds = kinds, render = blocks.writer(kinds, "\n") }
