-- Markdown as text for a terminal: tables aligned, marks taken away, lines as they are. For the
-- manual's pages, not for Markdown at large.
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
    return cells[1] .. "\n" .. INDENT .. table.concat(text.wrap(table.concat(rest, " · "),
      WIDTH - #INDENT), "\n" .. INDENT)
  end), "\n")
end


-- Markdown as text. strong: a function that marks a heading; none when absent.
function plain.render(markdown, strong)
  local out, lines, in_code = {}, {}, false
  -- ends the paragraph or table that is being gathered
  local function flush()
    if #lines > 0 then
      out[#out + 1] = lines[1]:find "^|" and table_text(lines) or unmark(table.concat(lines, "\n"))
    end
    lines = {}
  end
  for line in (markdown:gsub("\n*$", "\n")):gmatch "(.-)\n" do
    local title = line:match "^#+ (.*)$"
    if line:find "^```" then
      flush()
      in_code = not in_code
    elseif in_code or line:find "^    " and #lines == 0 then
      out[#out + 1] = in_code and INDENT .. line or line
    elseif title then
      out[#out + 1] = strong and strong(unmark(title)) or unmark(title)
    elseif line == "" then
      flush()
      if out[#out] ~= "" then out[#out + 1] = "" end
    elseif not line:find "^<!%-%-" then
      lines[#lines + 1] = line
    end
  end
  flush()
  return table.concat(out, "\n") .. "\n"
end


return plain
