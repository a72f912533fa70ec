-- The roofline in characters, for formats that draw nothing: kernels by their # in the table
-- below it, stages as ◆ with a letter, and the roofs.
local lists = require "llmprof.tables.lists"
local statistics = require "llmprof.statistics"
local text = require "llmprof.text"

local plane = {}

-- Columns of the picture, and rows for a power of ten.
local WIDTH, ROWS = 76, 3


local function log(value) return math.log(value, 10) end


-- Powers of ten around all values.
local function decades(values)
  local seen = statistics.describe(values)
  local low, high = math.floor(log(seen.min)), math.ceil(log(seen.max) + 0.01)
  return low, math.max(high, low + 1)
end


-- Peaks of units with what each is drawn with, the highest first.
local function peaks(roofs)
  local tensors = roofs.tensors or { roofs.tensor and { rate = roofs.tensor } or nil }
  local list = lists.map(tensors, function(ceiling)
    local name = ceiling.format and "tensor " .. ceiling.format or "tensor"
    return { mark = "-", name = name, rate = ceiling.rate }
  end)
  if roofs.vector then list[#list + 1] = { mark = "=", name = "vector", rate = roofs.vector } end
  return lists.sort(list, "-rate", "name")
end


-- Rates of memory that are known.
local function memories(roofs)
  return lists.map({ { ":", "L2", roofs.l2 }, { "/", "DRAM", roofs.dram } }, function(entry)
    local mark, name, rate = table.unpack(entry, 1, 3)
    return rate and { mark = mark, name = name, rate = rate } or nil
  end)
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


local function row_of(field, y) return math.floor((field.top - log(y)) * ROWS + 1.5) end


local function put(field, y, column, mark)
  local cells = field.cells[row_of(field, y)]
  if cells then cells[column] = mark end
end


-- The characters of a point's mark in its row; false where others leave no room.
local function write(field, point, mark)
  local row = row_of(field, point.y)
  local first = math.floor((log(point.x) - field.left) * field.step + 1.5)
  local last = first + utf8.len(mark) - 1
  if last > field.width then return false end
  for at = first - 1, last + 1 do
    if field.taken[row][at] then return false end
  end
  for _, code in utf8.codes(mark) do
    field.cells[row][first], field.taken[row][first] = utf8.char(code), true
    first = first + 1
  end
  return true
end


-- ---- what is drawn ----

-- Memory's roofs end at the highest of the units, whose begin at the fastest memory.
local function draw_roofs(field, memory, units)
  local highest = units[1] and units[1].rate or math.huge
  local _, fastest = lists.largest(memory, "rate")
  for column = 1, field.width do
    local x = 10 ^ (field.left + (column - 1) / field.step)
    for _, unit in ipairs(units) do
      if x * (fastest or 0) >= unit.rate then put(field, unit.rate, column, unit.mark) end
    end
    for _, one in ipairs(memory) do
      if x * one.rate <= highest then put(field, x * one.rate, column, one.mark) end
    end
  end
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


-- "- tensor bf16 1,070.5, = vector 66.9": roofs and their marks.
local function legend(roofs, digits)
  return lists.map(roofs, function(one)
    return ("%s %s %s"):format(one.mark, one.name, text.number(one.rate, digits, ","))
  end)
end


-- Lines of the picture of what charts.roofline makes. Kernels with the most time come first.
function plane.lines(made)
  local units, memory = peaks(made.roofs), memories(made.roofs)
  local field = field_of(made, units)
  draw_roofs(field, memory, units)
  local names, hidden = {}, {}
  local function draw(point, mark)
    if not write(field, point, mark) then hidden[#hidden + 1] = mark end
  end
  for i, point in ipairs(made.stages) do
    local letter = utf8.char(("A"):byte() + i - 1)
    names[i] = ("%s %s"):format(letter, point.stage)
    draw(point, "◆" .. letter)
  end
  for _, point in ipairs(made.kernels) do draw(point, tostring(point.id)) end
  local lines = { "numbers are kernels of the table"
    .. (#names > 0 and ", ◆ stages: " .. table.concat(names, ", ") or "") }
  if #units > 0 then lines[2] = "TFLOP/s: " .. table.concat(legend(units, 1), ", ") end
  if #memory > 0 then lines[#lines + 1] = "TB/s: " .. table.concat(legend(memory, 2), ", ") end
  lines[#lines + 1] = ""
  for row, cells in ipairs(field.cells) do
    lines[#lines + 1] = ("%7s |%s"):format((row - 1) % ROWS == 0
      and power(field.top - (row - 1) // ROWS) or "", (table.concat(cells):gsub(" +$", "")))
  end
  lines[#lines + 1] = "        +" .. ("-"):rep(field.width)
  lines[#lines + 1] = axis(field)
  lines[#lines + 1] = "         FLOP per byte of DRAM; upwards TFLOP/s"
  if #hidden > 0 then
    lines[#lines + 1] = "behind others: " .. table.concat(hidden, ", ")
  end
  return lines
end


return plane
