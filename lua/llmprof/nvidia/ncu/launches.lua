-- Counters of launches, of any tool: a row for each launch, with its figures by path
-- ("flop.fp32", see llmprof.nvidia.ncu) as numbers. Which launch it is differs little: rows
-- that are alike in it are a class, which is looked at once.
--
-- launches: frame (of C), shared (columns of it that tell classes apart), has (the set of
-- paths of figures), classes. A class has kernel, device, ranges (open NVTX ranges, outermost
-- first: "name" or "domain:name"), started (the same of start/stop ranges), whole_range, grid,
-- block, source ("ncu" or "collector"), and rows, the numbers of its rows, ascending. limits:
-- what launches.of was given.
local errors = require "llmprof.process.errors"
local figures = require "llmprof.nvidia.ncu.figures"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local ncu_page = require "llmprof.ncu"
local sorted_keys = require("llmprof.tables.keys").sorted
local spool = require "llmprof.spool"

local launches = {}

local Launches = {}
Launches.__index = Launches

-- Columns of a recording's table that a page has, too.
local TABLE = { "source", "pid", "launch", "name", "device", "context", "stream", "correlation",
  "tid", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "ranges", "whole" }

-- Columns that say which launch it is, as far as classes differ.
local IDENTITY = { "source", "name", "device", "ranges", "started", "whole", "grid_x", "grid_y",
  "grid_z", "block_x", "block_y", "block_z" }


function Launches:__len() return #self.frame end


-- The column of a figure: its name is nobody else's.
local function column_of(path) return "." .. path end


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


-- Some of the rows, for what is asked of them together.
function Launches:view(rows) return self.frame:take(rows) end


-- Set means over a view's rows in a table: entries are { field, path }. Each number counts
-- as much as its weight, which is a figure too; without one a mean is of all rows or absent.
function Launches:add_means(made, view, entries, weight)
  local known = lists.filtered(entries, function(entry) return self.has[entry[2]] end)
  local columns = lists.map(known, function(entry) return column_of(entry[2]) end)
  local sums, weights = view:weigh(columns, self.has[weight] and column_of(weight) or nil)
  local least = weight and 0 or #view - 1
  for i, entry in ipairs(known) do
    if weights[i] > least then made[entry[1]] = sums[i] / weights[i] end
  end
end


-- The largest number of each figure below a path, over a view's rows, by its whole path.
function Launches:largest(view, group)
  local columns, made = {}, {}
  for path in pairs(self.has) do
    if path:sub(1, #group + 1) == group .. "." then
      columns[#columns + 1] = { path, "max", column_of(path) }
    end
  end
  if #columns == 0 then return made end
  local most = view:group { by = {}, columns = columns }
  for _, column in ipairs(columns) do made[column[1]] = most:get(1, column[1]) end
  return made
end


local ABSENT = { 0, 0, "/" }

-- A figure as steps over the columns.
function Launches:steps(path) return self.has[path] and { { column_of(path) } } or ABSENT end


-- The rows of some classes, ascending.
function launches.rows(classes)
  if #classes == 1 then return classes[1].rows end
  return lists.sort(lists.flat(classes, "rows"))
end


local function class_of(frame, rows, names)
  local cells = {}
  for _, name in ipairs(names) do cells[name] = frame:get(rows[1], name) end
  local function tags(lines)
    local list = {}
    for tag in (lines and lines .. "\n" or ""):gmatch "(.-)\n" do list[#list + 1] = tag end
    return list
  end
  local function size(what)
    local x = cells[what .. "_x"]
    return x and { x = x, y = cells[what .. "_y"], z = cells[what .. "_z"] } or nil
  end
  return { rows = rows, source = cells.source, kernel = cells.name, device = cells.device,
    ranges = tags(cells.ranges), started = tags(cells.started),
    whole_range = cells.whole == 1 or nil, grid = size "grid", block = size "block" }
end


-- By group of rows that are equal in these columns, a list of its rows.
local function rows_by(frame, columns)
  local groups = errors.check(frame:group { by = columns, columns = {} })
  local numbers, list = {}, {}
  for i = 1, #groups do numbers[i], list[i] = i, {} end
  local numbered = errors.check(frame:select(columns):extend(columns, #groups,
    { { name = "group", type = "integer", values = numbers } }))
  for row, group in ipairs(numbered:values "group") do table.insert(list[group], row) end
  return list
end


-- Launches of a frame whose figures are there.
local function made(frame, has)
  local classes = {}
  local shared = lists.filtered(IDENTITY, function(name)
    return lists.find(frame:columns(), "name", name)
  end)
  for i, rows in ipairs(rows_by(frame, shared)) do classes[i] = class_of(frame, rows, shared) end
  return setmetatable({ frame = frame, classes = classes, shared = shared, has = has }, Launches)
end


-- ---- figures ----

-- Base units a metric must have to be used as such: with another, say one of a spelling
-- that is not known, its scale is not known either. ncu gives its own derived__ rates no
-- unit, or one without the "per".
local KINDS = {
  percent = { ["%"] = true, [""] = true },
  limit = { ["1/s"] = true },
  time = { s = true },
  bytes = { byte = true, ["byte/block"] = true },
  byte_rate = { ["byte/s"] = true },
  derived_rate = { ["byte/s"] = true, byte = true, [""] = true },
  derived_width = { ["byte/cycle"] = true, byte = true, [""] = true },
  width = { ["byte/cycle"] = true },
  clock = { Hz = true },
}

-- What figures are put into: names, the metrics that there are; units, their base units and those
-- of limits; asked, a set of the metrics that figures are made of; frame, where they become
-- columns, and has, which are there: without it any may be.
local Metrics = {}
Metrics.__index = Metrics


function Metrics:metric(name, what)
  local unit = self.units[name]
  if not unit or what and not KINDS[what][unit] then return figures.ABSENT end
  self.asked[name] = true
  return figures.formula { { name } }
end


function Metrics:path(path)
  local is_there = not self.has or self.has[path] ~= nil
  return is_there and figures.formula { { column_of(path) } } or figures.ABSENT
end


function Metrics:put(path, unit, steps)
  if not self.has or steps == figures.ABSENT then return end
  self.frame:compute { name = column_of(path), unit = unit, steps = steps }
  self.has[path] = true
end


-- The metrics that figures are made of, of those that there are (base units by name), as a set.
local function asked(units)
  local of = setmetatable({ names = units, units = units, asked = {} }, Metrics)
  figures.put(of)
  return of.asked
end


-- Adds what each launch's GPU can do at most, as columns "limit.dram" (byte/s), "limit.bf16"
-- (operations per second) and so on; their names with a unit.
local function add_limits(frame, limits)
  local devices = errors.check(frame:group { by = { "device" }, columns = {} })
  local columns, by_name, own, units = {}, {}, {}, {}
  for i = 1, #devices do
    own[i] = limits(devices:get(i, "device"))
    for _, name in ipairs(sorted_keys(own[i])) do
      lists.entry(columns, by_name, name, { name = "limit." .. name, type = "number",
        values = {} })
    end
  end
  for name, column in pairs(by_name) do
    for i = 1, #devices do column.values[i] = own[i][name] and own[i][name] + 0.0 or false end
    units[column.name] = "1/s"
  end
  errors.check(frame:extend({ "device" }, #devices, columns))
  return units
end


-- Launches of a table of counters. units: base units by the metrics that are its columns. limits:
-- a function of a GPU's number that gives what it can do, as llmprof.model.hardware has it; nil
-- where no GPU is known. put(of): puts the figures; those of llmprof.nvidia.ncu.figures unless
-- given.
function launches.of(frame, units, limits, put)
  local all = setmetatable(limits and add_limits(frame, limits) or {}, { __index = units })
  local of = setmetatable({ names = units, units = all, asked = {}, frame = frame, has = {} },
    Metrics)
  put = put or figures.put
  put(of)
  of:put("duration_ns", "ns", 1e9 * of:path "duration")
  local found = made(frame, of.has)
  found.limits = limits
  return found
end


-- Those whose figure is there: launches.
function Launches:where_known(path)
  if not self.has[path] then return made(self.frame:take {}, self.has) end
  return made(self.frame:where { { column_of(path), "~=", false } }, self.has)
end


-- ---- whole ranges ----

-- Counters of whole ranges, as range replay measures them, and of launches of CUDA graphs:
-- a result is all that ran between a begin and an end, and belongs to no kernel.

local flop_kinds = { "fp64", "fp32", "fp16", "tensor", "total" }


local function range_record(self, row, range, occurrence, stage)
  local bytes, ns, flop = self:get(row, "bytes.dram"), self:get(row, "duration_ns"), {}
  for _, kind in ipairs(flop_kinds) do flop[kind] = self:get(row, "flop." .. kind) end
  return {
    range = range, stage = stage, occurrence = occurrence,
    duration_ns = ns and ns + 0.0,
    sm_percent = self:get(row, "throughput.sm"),
    tensor_percent = self:get(row, "throughput.tensor"),
    dram_percent = self:get(row, "throughput.dram"),
    memory_percent = self:get(row, "throughput.memory"),
    dram_bytes = bytes and math.tointeger(math.floor(bytes + 0.5)),
    flop = next(flop) and flop or nil, intensity = self:get(row, "intensity.dram"),
  }
end


-- The launches that are whole ranges, in their order, as results.json has them: times in ns,
-- percentages 0..100, absent what was not measured; of the innermost range that was open (none
-- where ranges are marked by cudaProfilerStart and Stop). occurrence counts those of a range from
-- 1. stage_of(class): the stage it is in, or nil.
function Launches:whole_ranges(stage_of)
  local results, list, seen = {}, json.list {}, {}
  for _, class in ipairs(self.classes) do
    for _, row in ipairs(class.whole_range and class.rows or {}) do
      results[#results + 1] = { row = row, class = class }
    end
  end
  for i, result in ipairs(lists.sort(results, "row")) do
    local class = result.class
    local range = class.ranges[#class.ranges] or class.started[#class.started]
    seen[range or ""] = (seen[range or ""] or 0) + 1
    list[i] = range_record(self, result.row, range, seen[range or ""], stage_of(class))
  end
  return list
end


-- ---- where they come from ----

-- Of a raw page of ncu: launches | nil, message, code. limits: of launches.of.
function launches.of_page(path, limits)
  local page, message, code = ncu_page.open(path)
  if not page then return nil, message, code end
  local units = page:metrics()
  local frame
  frame, message, code = page:counters(asked(units))
  if not frame then return nil, message, code end
  return launches.of(frame, units, limits)
end


-- The table of counters of a recording: the frame of launches that were measured, the base
-- units of the metrics that these have (samples have others), and how many were wanted.
function launches.recorded(path)
  local opened = errors.check(spool.open(path))
  local all, units = errors.check(opened:frame "counters"), {}
  local frame, names = all:where { error = 0 }, lists.first(TABLE)
  for _, column in ipairs(frame:columns()) do
    if column.type == "number" and #frame:where { { column.name, "~=", false } } > 0 then
      units[column.name], names[#names + 1] = column.unit or "", column.name
    end
  end
  return frame:select(names), units, #all
end


-- Launches of a recording, which may be none.
function launches.of_recording(path, limits)
  local frame, units = launches.recorded(path)
  return launches.of(frame, units, limits)
end


-- ---- a page ----

-- A table of counters written as the raw page that ncu prints, for people and for what reads
-- such pages: values are in base units, and read back they are the same numbers.

local STACK = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
local RANGES = "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"


local function number_text(value)
  if not value then return "" end
  local whole = math.tointeger(value)
  if whole then return ("%d"):format(whole) end
  local text = ("%.15g"):format(value)
  return tonumber(text) == value and text or ("%.17g"):format(value)
end


local function size_text(what)
  return function(cells)
    if cells.whole then return "" end
    return ("(%d, %d, %d)"):format(cells[what .. "_x"], cells[what .. "_y"], cells[what .. "_z"])
  end
end


-- Title and what a row has below it: a cell by its name, or what is made of all.
local COLUMNS = {
  { "ID", function(_, row) return row - 1 end },
  { "Process ID", "pid" }, { "Process Name" }, { "Host Name" },
  { STACK, function(cells)
    local items = {}
    for tag in (cells.ranges or ""):gmatch "[^\n]+" do
      items[#items + 1] = ('"<default domain>:%s:none:none:none:none:none:none"'):format(tag)
    end
    return ("%d  %s"):format(cells.tid or 0, table.concat(items, "  "))
  end },
  { RANGES }, { "Kernel Name", "name" }, { "Context", "context" },
  { "Stream", function(cells) return not cells.whole and cells.stream or "" end },
  { "Block Size", size_text "block" }, { "Grid Size", size_text "grid" },
  { "Device", "device" }, { "CC" },
}


local function line_of(cells)
  for i, cell in ipairs(cells) do cells[i] = '"' .. tostring(cell):gsub('"', '""') .. '"' end
  return table.concat(cells, ",") .. "\n"
end


-- The text of a page. frame, units: as llmprof.nvidia.ncu.launches has them of a recording.
function launches.page_text(frame, units)
  local names, values, head, unit_row = lists.map(frame:columns(), "name"), {}, {}, {}
  local metrics = lists.filtered(names, function(name) return units[name] end)
  for _, name in ipairs(names) do values[name] = frame:values(name) end
  for i, column in ipairs(COLUMNS) do head[i], unit_row[i] = column[1], "" end
  for _, name in ipairs(metrics) do head[#head + 1], unit_row[#unit_row + 1] = name, units[name] end
  local lines = { line_of(head), line_of(unit_row) }
  for row = 1, #frame do
    local cells, line = {}, {}
    for name, column in pairs(values) do cells[name] = column[row] or nil end
    for i, column in ipairs(COLUMNS) do
      local of = column[2]
      line[i] = type(of) == "function" and of(cells, row) or of and cells[of] or ""
    end
    for _, name in ipairs(metrics) do line[#line + 1] = number_text(cells[name]) end
    lines[#lines + 1] = line_of(line)
  end
  return table.concat(lines)
end


return launches
