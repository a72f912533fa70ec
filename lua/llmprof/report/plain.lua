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


-- Words in lines of at most WIDTH columns behind a mark, which is not repeated.
local function fill(words, mark)
  local lines = text.wrap((words:gsub("%s+", " ")), WIDTH - text.width(mark))
  return mark .. table.concat(lines, "\n" .. (" "):rep(#mark))
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


-- A table with its columns aligned; where that is too wide, a row is a paragraph that hangs below
-- its first cell.
local function table_text(rows)
  local columns = {}
  for i, title in ipairs(cells_of(rows[1])) do
    columns[i] = { key = i, title = title, type = "text" }
  end
  local body = lists.map(table.move(rows, 3, #rows, 1, {}), cells_of)
  local aligned = tables.render("table", columns, body):gsub("\n$", "")
  local is_wide = false
  for line in aligned:gmatch "[^\n]+" do is_wide = is_wide or text.width(line) > WIDTH end
  if not is_wide then return aligned end
  return table.concat(lists.map(body, function(cells)
    local rest = lists.filtered(table.move(cells, 2, #cells, 1, {}), function(cell)
      return cell ~= ""
    end)
    return cells[1] .. "\n" .. fill(table.concat(rest, " · "), INDENT)
  end), "\n")
end


-- Markdown as text. strong: a function that marks a heading; none when absent.
function plain.render(markdown, strong)
  local out, paragraph, mark, rows, in_code = {}, nil, "", nil, false
  -- ends the paragraph or table that is being gathered
  local function flush()
    if paragraph then out[#out + 1] = fill(unmark(paragraph), mark) end
    if rows then out[#out + 1] = table_text(rows) end
    paragraph, mark, rows = nil, "", nil
  end
  local function gather(line)
    local item_mark, item = line:match "^(%s*[-*] )(.*)$"
    if not item_mark then item_mark, item = line:match "^(%s*%d+%. )(.*)$" end
    if item_mark then
      flush()
      paragraph, mark = item, item_mark
    else
      paragraph = paragraph and paragraph .. " " .. line or line
    end
  end
  for line in (markdown:gsub("\n*$", "\n")):gmatch "(.-)\n" do
    local title = line:match "^#+ (.*)$"
    if line:find "^```" then
      flush()
      in_code = not in_code
    elseif in_code then
      out[#out + 1] = INDENT .. line
    elseif title then
      flush()
      out[#out + 1] = strong and strong(unmark(title)) or unmark(title)
    elseif line:find "^<!%-%-" then
      flush()
    elseif line:find "^|" then
      if not rows then flush() end
      rows = rows or {}
      rows[#rows + 1] = line
    elseif line == "" then
      flush()
      if out[#out] ~= "" then out[#out + 1] = "" end
    elseif line:find "^    " and not paragraph then
      out[#out + 1] = line
    else
      if rows then flush() end
      gather(line)
    end
  end
  flush()
  return table.concat(out, "\n") .. "\n"
end


return plain
