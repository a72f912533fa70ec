-- The roofline in characters, for formats that draw nothing: kernels by their # in the table
-- below it, stages with their names, and the roofs.
local lists = require "llmprof.tables.lists"
local statistics = require "llmprof.statistics"
local text = require "llmprof.text"

local plane = {}

-- Columns of the picture, and rows for a power of ten.
local WIDTH, ROWS = 76, 3

-- What the roofs are drawn with.
local MARKS = { dram = "/", l2 = ":", tensor = "-", vector = "=" }


local function log(value) return math.log(value, 10) end


-- Powers of ten around all values.
local function decades(values)
  local seen = statistics.describe(values)
  local low, high = math.floor(log(seen.min)), math.ceil(log(seen.max) + 0.01)
  return low, math.max(high, low + 1)
end


-- Peaks of units, the highest first; those of one height are one.
local function peaks(roofs)
  local list, by_rate = {}, {}
  local function add(name, rate, mark)
    local peak = by_rate[rate]
    if peak then peak.name = peak.name .. ", " .. name return end
    by_rate[rate] = { name = name, rate = rate, mark = mark }
    list[#list + 1] = by_rate[rate]
  end
  for _, ceiling in ipairs(roofs.tensors or {}) do
    local is_new = not by_rate[ceiling.rate]
    add((is_new and "tensor " or "") .. ceiling.format, ceiling.rate, "tensor")
  end
  if not roofs.tensors and roofs.tensor then add("tensor", roofs.tensor, "tensor") end
  if roofs.vector then add("vector", roofs.vector, "vector") end
  return lists.sort(list, "-rate")
end


-- ---- cells ----

-- A field of characters with axes of powers of ten.
local function field_of(made, units)
  local points, rates = lists.joined(made.kernels, made.stages), lists.map(units, "rate")
  local ridges = lists.map(made.roofs.dram and rates or {}, function(rate)
    return rate / made.roofs.dram
  end)
  local xs = lists.joined(lists.map(points, "x"), ridges)
  local ys = lists.joined(lists.map(points, "y"), rates)
  local field = { cells = {}, taken = {} }
  field.left, field.right = decades(xs)
  field.bottom, field.top = decades(ys)
  field.step = WIDTH // (field.right - field.left)
  field.width, field.height = field.step * (field.right - field.left) + 1,
    ROWS * (field.top - field.bottom) + 1
  for row = 1, field.height do
    field.cells[row], field.taken[row] = {}, {}
    for column = 1, field.width do field.cells[row][column] = " " end
  end
  return field
end


local function column_of(field, x) return math.floor((log(x) - field.left) * field.step + 1.5) end
local function row_of(field, y) return math.floor((field.top - log(y)) * ROWS + 1.5) end


local function put(field, row, column, mark)
  if field.cells[row] and field.cells[row][column] then field.cells[row][column] = mark end
end


-- Characters of a name in a row, where nothing else is named; false where there is no room.
local function write(field, row, column, name)
  local count = utf8.len(name)
  if not field.cells[row] or column < 1 or column + count - 1 > field.width then return false end
  for at = column - 1, column + count do
    if field.taken[row][at] then return false end
  end
  for _, code in utf8.codes(name) do
    field.cells[row][column], field.taken[row][column] = utf8.char(code), true
    column = column + 1
  end
  return true
end


-- ---- what is drawn ----

-- Memory's roofs end at the highest of the units, whose begin at the fastest memory.
local function draw_roofs(field, roofs, units)
  local highest = units[1] and units[1].rate or math.huge
  local fastest = math.max(roofs.dram or 0, roofs.l2 or 0)
  local function at(column) return 10 ^ (field.left + (column - 1) / field.step) end
  for _, unit in ipairs(units) do
    for column = 1, field.width do
      if at(column) * fastest >= unit.rate then
        put(field, row_of(field, unit.rate), column, MARKS[unit.mark])
      end
    end
  end
  for _, key in ipairs { "l2", "dram" } do
    for column = 1, roofs[key] and field.width or 0 do
      local y = at(column) * roofs[key]
      if y <= highest then put(field, row_of(field, y), column, MARKS[key]) end
    end
  end
end


-- As far to the right as there is room.
local function name_roofs(field, units)
  for _, unit in ipairs(units) do
    local name = ("%s %s"):format(unit.name, text.number(unit.rate, 1, ","))
    for column = field.width - #name, 1, -1 do
      if write(field, row_of(field, unit.rate), column, name) then break end
    end
  end
end


-- To its right, to its left, above or below; false where there is no room.
local function name_stage(field, row, column, name)
  local count = utf8.len(name)
  for _, place in ipairs { { 0, 2 }, { 0, -count - 1 }, { -1, 0 }, { 1, 0 }, { -1, -count + 1 },
    { 1, -count + 1 } } do
    if write(field, row + place[1], column + place[2], name) then return true end
  end
  return false
end


local function draw_stages(field, stages)
  for _, point in ipairs(stages) do
    local row, column = row_of(field, point.y), column_of(field, point.x)
    put(field, row, column, "◆")
    field.taken[row][column] = true
  end
  return lists.map(lists.filtered(stages, function(point)
    return not name_stage(field, row_of(field, point.y), column_of(field, point.x), point.stage)
  end), "stage")
end


-- Those with the most time come first; which ones are not seen.
local function draw_kernels(field, kernels)
  return lists.map(lists.filtered(kernels, function(point)
    return not write(field, row_of(field, point.y), column_of(field, point.x), tostring(point.id))
  end), "id")
end


local function power(exponent)
  return exponent < 5 and ("%g"):format(10.0 ^ exponent) or ("1e%d"):format(exponent)
end


local function axis(field)
  local marks = { (" "):rep(9) }
  for exponent = field.left, field.right - 1 do
    marks[#marks + 1] = ("%-" .. field.step .. "s"):format(power(exponent))
  end
  return table.concat(marks) .. power(field.right)
end


-- Lines of the picture of what charts.roofline makes.
function plane.lines(made)
  local roofs, units = made.roofs, peaks(made.roofs)
  local field = field_of(made, units)
  draw_roofs(field, roofs, units)
  local unnamed = draw_stages(field, made.stages)
  local hidden = draw_kernels(field, made.kernels)
  name_roofs(field, units)
  local said = "TFLOP/s; numbers are kernels of the table, ◆ stages"
  for _, key in ipairs { "dram", "l2" } do
    said = said .. (roofs[key] and (", %s %s %.2f TB/s"):format(MARKS[key],
      key == "l2" and "L2" or "DRAM", roofs[key]) or "")
  end
  local lines = { said, "" }
  for row, cells in ipairs(field.cells) do
    lines[#lines + 1] = ("%7s |%s"):format((row - 1) % ROWS == 0
      and power(field.top - (row - 1) // ROWS) or "", (table.concat(cells):gsub(" +$", "")))
  end
  lines[#lines + 1] = "        +" .. ("-"):rep(field.width)
  lines[#lines + 1] = axis(field)
  lines[#lines + 1] = "         FLOP per byte of DRAM"
  if #hidden > 0 then
    lines[#lines + 1] = "behind others: " .. table.concat(hidden, ", ")
  end
  if #unnamed > 0 then
    lines[#lines + 1] = "without a name: " .. table.concat(unnamed, ", ")
  end
  return lines
end


return plane
