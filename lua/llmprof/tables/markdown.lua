-- GitHub-flavoured Markdown: tables, and text that renders as it is. Recipes know it as
-- llmprof.markdown.
--
-- Whatever a kernel is called, "<script>", "*p", "a|b", it shows as those characters on GitHub
-- and GitLab, and the source is readable too: columns line up by display width. Not prevented,
-- because nothing in Markdown can: links for @names and #numbers, and :shortcodes:.
local text = require "llmprof.text"

local markdown = {}

local MARKS = { ["<"] = "&lt;", [">"] = "&gt;", ["&"] = "&amp;" }
for mark in ("\\`*[|~$"):gmatch "." do MARKS[mark] = "\\" .. mark end

-- Of a column: "---", and not wider, since one long cell must not widen every row.
local MIN_WIDTH, MAX_WIDTH = 3, 100


-- What needs no escape is left alone, since people read the source as well: underscores inside
-- a word open no emphasis, and links would show escapes.
local function escape_marks(s)
  s = s:gsub("[\\`*%[|~$<>&]", MARKS)
  s = s:gsub("()(_+)()", function(first, run, after)
    if first > 1 and s:find("^%w", first - 1) and s:find("^%w", after) then return nil end
    return run:gsub("_", "\\_")
  end)
  return (s:gsub("://", ":\\//"):gsub("([wW][wW][wW])%.", "%1\\."))
end


-- What starts a heading, an underline, a list or a rule where a line starts, and a # behind
-- a blank, which can end a heading.
local function escape_block(s)
  s = s:gsub("^[#=]", "\\%0"):gsub("([ \t])#", "%1\\#")
  local mark = s:match "^[+-]"
  if mark and (s:find "^.[ \t]" or s == mark or s:sub(2, 2) == mark) then return "\\" .. s end
  local number = s:match "^(%d+)[.)][ \t]" or s:match "^(%d+)[.)]$"
  if number and #number < 10 then return number .. "\\" .. s:sub(#number + 1) end
  return s
end


-- A newline becomes <br>; blanks at either end, which would be trimmed, stay.
local function keep_blanks(s)
  s = s:gsub("\r\n?", "\n"):gsub("\n", "<br>")
  local first, inner, last = s:match "^([ \t]*)(.-)([ \t]*)$"
  return ("&nbsp;"):rep(#first) .. text.clean(inner) .. ("&nbsp;"):rep(#last)
end


-- Text as it is, in a paragraph or a heading.
function markdown.escape(s)
  return keep_blanks(escape_block(escape_marks(s)))
end


-- The same where no line starts: a table cell. "-1" and "# 3" stay so.
local function inline(s)
  return keep_blanks(escape_marks(s))
end


-- Text as inline code, fit for a table cell too. The space on each side that a renderer takes
-- off is given where the text's own would go, and where a backtick would join the fence.
function markdown.code(s)
  if s == "" then return "" end
  if s:find "[|\n\r]" then return "<code>" .. inline(s) .. "</code>" end
  local longest = 0
  for run in s:gmatch "`+" do longest = math.max(longest, #run) end
  local fence = ("`"):rep(longest + 1)
  local spaced = s:find "^`" or s:find "`$" or (s:find "^[ \t].*[ \t]$" and s:find "[^ \t]")
  local space = spaced and " " or ""
  return fence .. space .. text.clean(s) .. space .. fence
end


-- A line of the table, of cells that are rendered.
local function line_of(cells, columns, widths)
  local padded = {}
  for i, column in ipairs(columns) do padded[i] = text.pad(cells[i], widths[i], column.align) end
  return "| " .. table.concat(padded, " | ") .. " |\n"
end


local function rule_of(columns, widths)
  local rules = {}
  for i, column in ipairs(columns) do
    local align = column.align or "left"
    rules[i] = (align == "right" and "-" or ":") .. ("-"):rep(widths[i] - 2)
      .. (align == "left" and "-" or ":")
  end
  return "| " .. table.concat(rules, " | ") .. " |\n"
end


-- A table, its footnotes or nil, and how many there are.
-- columns: list of { title, align ("left", "right" or "center"), max (columns shown of a cell;
-- a longer one is shortened and gets a footnote), code (boolean) }. rows: list of lists of
-- strings; a cell that is nil or false is empty. options: prefix (of footnotes, "k"), first
-- (their first number, 1): of each table of a document others.
function markdown.table(columns, rows, options)
  local prefix, first = options and options.prefix or "k", options and options.first or 1
  local numbers, notes, lines, widths = {}, {}, { {} }, {}

  local function marker_of(value, render)
    if not numbers[value] then
      numbers[value] = first + #notes
      notes[#notes + 1] = ("[^%s%d]: %s\n"):format(prefix, numbers[value], render(value))
    end
    return ("[^%s%d]"):format(prefix, numbers[value])
  end

  for i, column in ipairs(columns) do lines[1][i] = inline(column.title) end
  for r, row in ipairs(rows) do
    local cells = {}
    for i, column in ipairs(columns) do
      local value = row[i] or ""
      local render = column.code and markdown.code or inline
      if column.max and text.width(value) > column.max then
        cells[i] = render(text.truncate(value, column.max)) .. " "
          .. marker_of(value, column.code and markdown.code or markdown.escape)
      else
        cells[i] = render(value)
      end
    end
    lines[r + 1] = cells
  end
  for i in ipairs(columns) do
    widths[i] = MIN_WIDTH
    for _, cells in ipairs(lines) do widths[i] = math.max(widths[i], text.width(cells[i])) end
    widths[i] = math.min(widths[i], MAX_WIDTH)
  end
  for r, cells in ipairs(lines) do lines[r] = line_of(cells, columns, widths) end
  table.insert(lines, 2, rule_of(columns, widths))
  return table.concat(lines), #notes > 0 and table.concat(notes) or nil, #notes
end


return markdown
