-- Markdown as text for a terminal: paragraphs filled, tables aligned, marks taken
-- away. For the manual's pages, not for Markdown at large.
local lists = require "llmprof.tables.lists"
local tables = require "llmprof.tables"
local text = require "llmprof.text"

local plain = {}

local WIDTH, INDENT = 80, "    "


-- f over the parts of a line outside of `code`, whose marks go.
local function outside_code(line, f)
  local out = {}
  for before, code in (line .. "``"):gmatch "([^`]*)`([^`]*)`" do
    out[#out + 1] = f(before)
    out[#out + 1] = code
  end
  return table.concat(out)
end


local entities = { ["&lt;"] = "<", ["&gt;"] = ">", ["&amp;"] = "&" }

local function unmark(line)
  return outside_code(line, function(part)
    part = part:gsub("!?%[([^%]]*)%]%(([^)]*)%)", "%1")
    part = part:gsub("%*%*(.-)%*%*", "%1")
    part = part:gsub("\\(%p)", "%1")
    return (part:gsub("&%a+;", entities))
  end)
end


-- Words in lines of at most WIDTH columns; first and rest, equally wide, begin
-- them.
local function fill(words, first, rest)
  local lines = text.wrap((words:gsub("%s+", " ")), WIDTH - text.width(first))
  for i, line in ipairs(lines) do lines[i] = (i == 1 and first or rest) .. line end
  return lines
end


-- The cells of a row. A bar that is escaped or in code is no border.
local function cells_of(line)
  local cells = {}
  line = line:gsub("\\|", "\1"):gsub("`[^`]*`", function(code) return (code:gsub("|", "\1")) end)
  for cell in line:gmatch "|([^|]*)%f[|]" do
    cells[#cells + 1] = unmark((cell:gsub("^%s+", ""):gsub("%s+$", ""))):gsub("\1", "|")
  end
  return cells
end


-- A table with its columns aligned.
local function table_lines(rows)
  local columns, lines = {}, {}
  for i, title in ipairs(cells_of(rows[1])) do
    columns[i] = { key = i, title = title, type = "text" }
  end
  local body = lists.map(table.move(rows, 3, #rows, 1, {}), cells_of)
  for line in tables.render("table", columns, body):gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines
end


-- A table that is too wide: a row as a paragraph that hangs below its first cell.
local function wide_table(rows)
  local lines = {}
  for i = 3, #rows do
    local cells = cells_of(rows[i])
    lines[#lines + 1] = cells[1]
    local rest = lists.filtered(table.move(cells, 2, #cells, 1, {}), function(cell)
      return cell ~= ""
    end)
    lists.add(lines, fill(table.concat(rest, " · "), INDENT, INDENT))
  end
  return lines
end


local function render_table(rows)
  local lines = table_lines(rows)
  local is_wide = lists.any(lines, function(line) return text.width(line) > WIDTH end)
  return is_wide and wide_table(rows) or lines
end


local Page = {}
Page.__index = Page


function Page:add(lines) lists.add(self.out, lines) end


-- Ends the paragraph or table that is being gathered.
function Page:flush()
  if self.paragraph then
    self:add(fill(unmark(self.paragraph), self.first, self.rest))
  elseif self.rows then
    self:add(render_table(self.rows))
  end
  self.paragraph, self.rows = nil, nil
end


function Page:gather(line)
  local mark, item = line:match "^(%s*[-*] )(.*)$"
  if not mark then mark, item = line:match "^(%s*%d+%. )(.*)$" end
  if mark then
    self:flush()
    self.paragraph, self.first, self.rest = item, mark, (" "):rep(#mark)
  elseif self.paragraph then
    self.paragraph = self.paragraph .. " " .. line
  else
    self.paragraph, self.first, self.rest = line, "", ""
  end
end


-- A line outside of code.
function Page:line(line)
  local title = line:match "^#+ (.*)$"
  if title then
    self:flush()
    self:add { self.strong(unmark(title)) }
  elseif line:find "^<!%-%-" then
    self:flush()
  elseif line:find "^|" then
    if not self.rows then self:flush() end
    self.rows = self.rows or {}
    table.insert(self.rows, line)
  elseif line == "" then
    self:flush()
    if self.out[#self.out] ~= "" then self:add { "" } end
  elseif line:find "^    " and not self.paragraph then
    self:add { line }
  else
    self:gather(line)
  end
end


-- Markdown as text. strong: a function that marks a heading; none when absent.
function plain.render(markdown, strong)
  local page = setmetatable({ out = {}, strong = strong or function(line) return line end }, Page)
  local in_code = false
  for line in (markdown:gsub("\n*$", "\n")):gmatch "(.-)\n" do
    if line:find "^```" then
      page:flush()
      in_code = not in_code
    elseif in_code then
      page:add { INDENT .. line }
    else
      page:line(line)
    end
  end
  page:flush()
  return table.concat(page.out, "\n") .. "\n"
end


return plain
