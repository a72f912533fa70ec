-- Launches of a raw page as columns: a row each, with its figures by path ("flop.fp32",
-- see llmprof.nvidia.ncu) as numbers. Which launch it is was printed for each, but differs
-- little: what was printed alike is a class, which is looked at once.
--
-- launches: frame (of C), shared (columns of it that tell classes apart), has (the set of
-- paths of figures), classes. A class is a launch of llmprof.nvidia.ncu without its
-- figures (kernel, device, stages, ranges, whole_range, grid, block, ...), and rows, the
-- numbers of its rows, ascending.
local formula = require "llmprof.nvidia.ncu.formula"
local row = require "llmprof.nvidia.ncu.row"

local launches = {}

local Launches = {}
Launches.__index = Launches

-- These columns say which of the launches of a class it is.
local OWN = { ID = true, ["Process ID"] = true }


function Launches:__len()
  return #self.frame
end


-- The column of a figure: its name is nobody else's.
local function column_of(path)
  return "." .. path
end


-- A figure of a row, an integer where it is whole; nil where it was not measured.
function Launches:get(number, path)
  local value = self.has[path] and self.frame:get(number, column_of(path)) or nil
  return value and math.tointeger(value) or value
end


-- The same of every row, false where it was not measured; empty where no row has it.
function Launches:values(path)
  local values = self.has[path] and self.frame:values(column_of(path)) or {}
  for i, value in ipairs(values) do values[i] = value and math.tointeger(value) or value end
  return values
end


-- Of entries { field, path } those whose figure some launch has, and their columns; looked up
-- once for each list.
local function known(self, entries)
  local found = self.known[entries]
  if found then return found end
  found = { entries = {}, columns = {} }
  for _, entry in ipairs(entries) do
    if self.has[entry[2]] then
      found.entries[#found.entries + 1] = entry
      found.columns[#found.columns + 1] = column_of(entry[2])
    end
  end
  self.known[entries] = found
  return found
end


-- Some of the rows, for what is asked of them together.
function Launches:view(rows)
  return self.frame:take(rows)
end


-- Set means over a view's rows in a table: entries are { field, path }. Each number counts
-- as much as its weight, which is a figure too; without one a mean is of all rows or absent.
function Launches:add_means(made, view, entries, weight)
  local found = known(self, entries)
  local sums, weights = view:weigh(found.columns, self.has[weight] and column_of(weight) or nil)
  local least = weight and 0 or #view - 1
  for i, entry in ipairs(found.entries) do
    if weights[i] > least then made[entry[1]] = sums[i] / weights[i] end
  end
end


-- The paths below a group, as columns of their largest numbers.
local function of_group(self, group)
  local found = self.known[group]
  if found then return found end
  found = {}
  for path in pairs(self.has) do
    if path:sub(1, #group + 1) == group .. "." then
      found[#found + 1] = { path, "max", column_of(path) }
    end
  end
  self.known[group] = found
  return found
end


-- The largest number of each figure below a path, over a view's rows, by its whole path.
function Launches:largest(view, group)
  local columns, made = of_group(self, group), {}
  if #columns == 0 then return made end
  local most = view:group { by = {}, columns = columns }
  for _, column in ipairs(columns) do made[column[1]] = most:get(1, column[1]) end
  return made
end


-- For formula.steps.
function Launches:path(path)
  return self.has[path] and { { column_of(path) } } or nil
end


local ABSENT = { 0, 0, "/" }

-- A formula of figures as steps over the columns.
function Launches:steps(tree)
  return formula.steps(tree, self) or ABSENT
end


-- The rows of some classes, ascending.
function launches.rows(classes)
  if #classes == 1 then return classes[1].rows end
  local list = {}
  for _, class in ipairs(classes) do
    table.move(class.rows, 1, #class.rows, #list + 1, list)
  end
  table.sort(list)
  return list
end


-- The columns of row.COLUMNS that a frame has.
local function identity(frame)
  local has, list = {}, {}
  for _, column in ipairs(frame:columns()) do has[column.name] = true end
  for _, name in ipairs(row.COLUMNS) do
    if has[name] then list[#list + 1] = name end
  end
  return list
end


-- The cells of a row as a page has them: an empty one is empty text.
local function cells_of(frame, number, names)
  local cells = {}
  for _, name in ipairs(names) do cells[name] = frame:get(number, name) or "" end
  return cells
end


-- Classes of a frame's rows and the columns that tell them apart; or nil, nil, message,
-- code, line: of the first row that is none.
local function classes_of(frame, name, names)
  local shared, list, worst = {}, {}, nil
  for _, column in ipairs(names) do
    if not OWN[column] then shared[#shared + 1] = column end
  end
  for _, rows in ipairs(frame:rows_by(shared)) do
    local cells, line = cells_of(frame, rows[1], names), frame:get(rows[1], "line")
    local class, message, code = row.launch(cells, name, line)
    if class then
      class.rows, list[#list + 1] = rows, class
    elseif not worst or line < worst.line then
      worst = { message = message, code = code, line = line }
    end
  end
  if worst then return nil, nil, worst.message, worst.code, worst.line end
  return list, shared
end


-- The first row before a line whose ID is none, or was there before: nil, message, code;
-- true without one.
local function check_ids(frame, name, names, before)
  local seen = {}
  for number = 1, #frame do
    local cells, line = cells_of(frame, number, names), frame:get(number, "line")
    if line >= before then break end
    local id, key = row.id(cells.ID), row.key(cells)
    if not id then return row.launch(cells, name, line) end
    if seen[key] then return row.fail_twice(name, line, id, seen[key]) end
    seen[key] = line
  end
  return true
end


-- Has every row an ID of its own that is a number?
local function sound_ids(frame, names)
  local keys = {}
  for _, column in ipairs(names) do
    if OWN[column] then keys[#keys + 1] = column end
  end
  return frame:count_groups { by = keys } == #frame and #frame:where { id = false } == 0
end


local function made(frame, classes, shared, has)
  return setmetatable({ frame = frame, classes = classes, shared = shared, has = has,
    known = {} }, Launches)
end


local NANOSECONDS = { path = "duration_ns", unit = "ns",
  tree = formula.scale(1e9, formula.path "duration") }

-- Add the figures, { path, unit, tree }, and duration_ns. source: gives steps of metrics.
-- Returns the set of paths that there are.
local function compute(frame, figures, source)
  local has = {}
  local from = { metric = function(_, ...) return source:metric(...) end,
    path = function(_, path) return has[path] and { { column_of(path) } } or nil end }
  local function add(figure)
    local steps = formula.steps(figure.tree, from)
    if not steps then return end
    frame:compute { name = column_of(figure.path), unit = figure.unit, steps = steps }
    has[figure.path] = true
  end
  for _, figure in ipairs(figures) do add(figure) end
  add(NANOSECONDS)
  return has
end


-- launches.read(frame, name, figures, source) -> launches | nil, message, code. frame:
-- columns of a raw page as text, "line", "id" and metrics, of which the source gives steps;
-- figures: of figures.of. name: of the file.
function launches.read(frame, name, figures, source)
  local names = identity(frame)
  local classes, shared, message, code, line = classes_of(frame, name, names)
  if not classes or not sound_ids(frame, names) then
    local ok, why, what = check_ids(frame, name, names, line or math.huge)
    if not ok then return nil, why, what end
  end
  if not classes then return nil, message, code end
  return made(frame, classes, shared, compute(frame, figures, source))
end


-- Those whose figure is there: launches.
function Launches:where_known(path)
  if not self.has[path] then return made(self.frame:take {}, {}, self.shared, self.has) end
  local view = self.frame:where { { column_of(path), "~=", false } }
  local classes, shared = classes_of(view, "", identity(view))
  return made(view, classes, shared, self.has)
end


return launches
