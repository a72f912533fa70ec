-- What reports are made of. A section gives a list of blocks, which are plain tables; each writer
-- (report/write/) knows every kind, that of text those of a digest. Texts are plain: a writer
-- escapes them in its own way. A text may be a list of runs: strings and { strong = TEXT }.
--
--   heading    title, level (1 the document, 2 a section, 3 within one)
--   paragraph  text, tone ("note": less weight, "warning"; optional)
--   verdict    lines = { { head, text } }
--   tiles      list = { { label, value, note } }: the figures that are asked for first
--   moves      list = what llmprof.report.findings makes of findings, brief, pairs that were
--              replayed and the run that they are of (optional)
--   table      name, columns, rows, filter (a field to search in where there can be one), title
--              (of those that are no section)
--   chart      name, label, data (a page draws it), picture (a function that gives
--              Mermaid), otherwise (what stands there without data)
--   multiples  label, what ("step"), panels: small pictures of llmprof.report.pictures
--   flame      name, label, samples, tree: stacks as results.json has them; of: "ns" where
--              they are no samples but the GPU's time; launched ({ label, category } by name) and
--              colours (of their categories) then
--   timeline   results; of several on a page number and title
--   code       text
local lists = require "llmprof.tables.lists"

local blocks = {}

-- Every kind; tests/lua/spec/report/blocks_spec.lua is red until each writer has it.
blocks.kinds = { "heading", "paragraph", "verdict", "tiles", "moves", "table", "chart",
  "multiples", "flame", "timeline", "code" }

for _, kind in ipairs(blocks.kinds) do
  -- A block of that kind, with these fields.
  blocks[kind] = function(fields)
    fields.kind = kind
    return fields
  end
end


-- A sentence, or nothing for nil; less weight for a note.
function blocks.say(text, tone)
  return text and blocks.paragraph { text = text, tone = tone } or nil
end

function blocks.note(text) return blocks.say(text, "note") end


-- A title within a section.
function blocks.title(title) return blocks.heading { title = title, level = 3 } end


local function add(list, given)
  if not given then return end
  if given.kind then
    list[#list + 1] = given
    return
  end
  for i = 1, #given do add(list, given[i]) end
end


-- One list of blocks, lists of them and nothing at all (nil, false).
function blocks.join(...)
  local list = {}
  for i = 1, select("#", ...) do add(list, (select(i, ...))) end
  return list
end


-- The columns of a table in which some row has a value: a report shows no empty ones.
function blocks.filled(block)
  return lists.filtered(block.columns, function(column)
    return #block.rows == 0 or lists.any(block.rows, function(row)
      return row[column.key] ~= nil and row[column.key] ~= ""
    end)
  end)
end


-- A writer out of a function for each kind: all blocks of a list as one text, what each
-- makes between `between`, those that make "" left out. A function gets the block and a
-- table that all blocks of one document share.
function blocks.writer(kinds, between)
  return function(list, document)
    local out = {}
    document = document or {}
    for _, block in ipairs(list) do
      local made = kinds[block.kind](block, document)
      if made ~= "" then out[#out + 1] = made end
    end
    return table.concat(out, between)
  end
end


return blocks
