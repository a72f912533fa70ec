-- Tables as blocks: of declared columns, and the declared tables of results.
local blocks = require "llmprof.report.blocks"
local columns = require "llmprof.report.columns"
local sections = require "llmprof.report.sections"

local tabled = {}


-- A table of rows; name: of the columns.
function tabled.of(name, rows)
  return blocks.table { name = name, columns = columns[name], rows = rows }
end


-- The table, or the sentence where there is no row.
function tabled.either(name, rows, otherwise)
  return #rows > 0 and tabled.of(name, rows) or blocks.say(otherwise)
end


-- The title of a declared table.
function tabled.title(name) return blocks.title(sections.find(name).title) end


-- A declared table under its title, of at most `most` rows; nothing without rows.
-- options: most, filter (a page can search in it), bare (no title), note (a sentence above).
function tabled.section(results, name, options)
  options = options or {}
  local section = sections.find(name)
  local rows = section.rows(results)
  local most = options.most or #rows
  if #rows == 0 then return nil end
  return blocks.join(not options.bare and blocks.title(section.title), blocks.note(options.note),
    blocks.table { name = name, columns = section.columns, filter = options.filter,
      rows = table.move(rows, 1, math.min(#rows, most), 1, {}) },
    #rows > most and blocks.say(("%d more: llmprof show RUN %s."):format(#rows - most, name)))
end


return tabled
