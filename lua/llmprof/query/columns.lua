-- Columns of frames by the names people type: aliases, and errors that say
-- what there is.
local errors = require "llmprof.process.errors"
local nearest = require "llmprof.tables.suggest"

local columns = {}

-- Short names, for frames that have no column of the name itself.
columns.aliases = {
  dur = "duration", short = "short_name", regs = "registers", corr = "correlation",
  cat = "category", queue = "queue_time", gap = "gap_before", gpu_gap = "gpu_gap_before",
}


-- By name: { name, type ("string", "integer", "number"), unit }; and the list.
function columns.of(frame)
  local list, by_name = frame:columns(), {}
  for _, column in ipairs(list) do by_name[column.name] = by_name[column.name] or column end
  return by_name, list
end


function columns.names(list)
  local names = {}
  for i, column in ipairs(list) do names[i] = column.name end
  return names
end


-- The column that a name or alias stands for, or nil.
function columns.find(frame, name)
  local by_name = columns.of(frame)
  return by_name[name] or by_name[columns.aliases[name]]
end


-- No column of that name; methods lists what else it could have been.
function columns.unknown(frame, name, methods)
  local _, list = columns.of(frame)
  local names = columns.names(list)
  local known = table.move(names, 1, #names, 1, {})
  table.move(methods or {}, 1, #(methods or {}), #known + 1, known)
  for alias, full in pairs(columns.aliases) do
    if columns.find(frame, full) then known[#known + 1] = alias end
  end
  errors.raise("usage",
    ("no %s '%s' here%s"):format(methods and "column or method" or "column", tostring(name),
      nearest.suggestion(tostring(name), known)),
    { hint = "columns: " .. table.concat(names, " ") })
end


-- As find, or the error.
function columns.check(frame, name)
  if type(name) ~= "string" then
    errors.raise("usage", ("a column's name is a string, not a %s"):format(type(name)))
  end
  return columns.find(frame, name) or columns.unknown(frame, name)
end


-- A column of numbers.
function columns.check_number(frame, name, what)
  local column = columns.check(frame, name)
  if column.type == "string" then
    errors.raise("usage", ("%s: column '%s' holds text, not numbers"):format(what, column.name))
  end
  return column
end


-- The names that a list of names or aliases stands for.
function columns.resolve(frame, names)
  local resolved = {}
  for i, name in ipairs(names) do resolved[i] = columns.check(frame, name).name end
  return resolved
end


return columns
