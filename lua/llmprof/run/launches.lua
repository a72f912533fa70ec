-- What a trace of torch.profiler launched, in order, as docs/operators.schema.json keeps
-- it: each pair of kernel and operator once, and the stages as lists of their numbers.
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local named = require "llmprof.analysis.kernels.range_texts"
local tuple = require("llmprof.tables.keys").tuple

local launches = {}

-- More launches than this are left out; tests lower it.
launches.MOST = 300000


-- A list of different values, and a function from a value to its place, from 0.
local function numbered()
  local list, places = json.list {}, {}
  return list, function(value)
    if value and not places[value] then
      places[value] = #list
      list[#list + 1] = value
    end
    return value and places[value]
  end
end


-- What the ranges around a launch say: a function from a mark's row to the row of the
-- stage, the outermost range, its name, and the path of the module around the launch.
local function reader(marks)
  local known = {}
  local function read(row)
    if known[row] then return known[row] end
    local name, parent = marks:get(row + 1, "name"), marks:get(row + 1, "parent")
    local above = parent and read(parent) or {}
    local made = { module = name and named.path(name) or above.module, stage = above.stage,
      name = above.name }
    if not made.stage and name and not name:find "^ProfilerStep#" then
      made.stage, made.name = row, name
    end
    known[row] = made
    return made
  end
  return function(row) return row and read(row) or {} end
end


local KEYS = { "name", "operator", "mark" }

-- By kernel, operator and mark: the number of the pair, and the row of the stage.
local function add_places(gpu, of_mark, made)
  local kernel_of, operator_of, module_of
  made.kernels, kernel_of = numbered()
  made.operators, operator_of = numbered()
  made.modules, module_of = numbered()
  local groups, numbers, stage, by_key = gpu:group { by = KEYS }, {}, {}, {}
  for i, group in ipairs(groups) do
    local around = of_mark(group.mark)
    local key = tuple(group.name, group.operator, around.module)
    if not by_key[key] then
      made.places[#made.places + 1] = { kernel = kernel_of(group.name or "(unnamed)"),
        operator = operator_of(group.operator), module = module_of(around.module) }
      by_key[key] = #made.places
    end
    numbers[i], stage[i] = by_key[key] - 1, around.stage or -1
  end
  errors.check(gpu:extend(KEYS, #groups, {
    { name = "place", type = "integer", values = numbers },
    { name = "stage", type = "integer", values = stage } }))
end


-- The order of each stage, those first that launched first.
local function orders(gpu, name_of)
  local places, stages = gpu:values "place", gpu:values "stage"
  local list, by_stage = json.list {}, {}
  for i = 1, math.min(#places, launches.MOST) do
    local order = by_stage[stages[i]]
    if not order then
      order = {}
      by_stage[stages[i]] = order
      list[#list + 1] = { name = name_of(stages[i]), order = order }
    end
    order[#order + 1] = places[i]
  end
  for _, stage in ipairs(list) do stage.order = table.concat(stage.order, " ") end
  return list
end


-- The same of a list of { name, operator, module, stage, instance (of the stage) }, all but
-- the name optional, in order; nil of an empty one.
function launches.list(list)
  if #list == 0 then return nil end
  local made, by_key, by_instance = { places = json.list {}, stages = json.list {} }, {}, {}
  local kernel_of, operator_of, module_of
  made.kernels, kernel_of = numbered()
  made.operators, operator_of = numbered()
  made.modules, module_of = numbered()
  for i = 1, math.min(#list, launches.MOST) do
    local launch = list[i]
    local key = tuple(launch.name, launch.operator, launch.module)
    if not by_key[key] then
      made.places[#made.places + 1] = { kernel = kernel_of(launch.name),
        operator = operator_of(launch.operator), module = module_of(launch.module) }
      by_key[key] = #made.places
    end
    local instance = launch.instance or -1
    local stage = by_instance[instance]
    if not stage then
      stage = { name = launch.stage, order = {} }
      by_instance[instance], made.stages[#made.stages + 1] = stage, stage
    end
    stage.order[#stage.order + 1] = by_key[key] - 1
  end
  for _, stage in ipairs(made.stages) do stage.order = table.concat(stage.order, " ") end
  if #made.modules == 0 then made.modules = nil end
  if #list > launches.MOST then made.left_out = #list - launches.MOST end
  return made
end


-- gpu, marks: frames of llmprof.chrome_trace. nil where no launch is known.
function launches.of(gpu, marks)
  local known = gpu:where { { "launched", "~=", false } }
  if #known == 0 then return nil end
  known = errors.check(known:sort { { "launched", false }, { "start", false } })
  local made, of_mark = { places = json.list {} }, reader(marks)
  add_places(known, of_mark, made)
  made.stages = orders(known, function(row) return row >= 0 and of_mark(row).name or nil end)
  if #made.modules == 0 then made.modules = nil end
  if #known > launches.MOST then made.left_out = #known - launches.MOST end
  return made
end


return launches
