-- Does a page link each schema of docs/, and does each figure of results.json have its
-- sentence? Run by llmprof exec, in the source tree.
local fs = require "llmprof.fs"
local json = require "llmprof.json"

local faults = {}


local function load(name)
  return assert(json.load(("docs/%s.schema.json"):format(name), { ordered = true }))
end


-- ---- figures ----

-- What a field holds: its own rule, or that which it refers to.
local function resolved(schema, rule)
  local target = rule["$ref"]
  return target and schema["$defs"][target:match "^#/%$defs/(.*)$"] or rule
end


local function is_figure(rule)
  local kinds = type(rule.type) == "table" and rule.type or { rule.type }
  for _, kind in ipairs(kinds) do
    if kind == "number" or kind == "integer" then return true end
  end
  return false
end


local function check_figures(schema, rule, where)
  for name, field in pairs(rule.properties or {}) do
    local inner, path = field.items or field, where .. "." .. name
    local target = resolved(schema, field)
    if is_figure(target) and not (field.description or target.description) then
      faults[#faults + 1] = ("docs/results.schema.json: %s: a figure without a description")
        :format(path)
    end
    check_figures(schema, inner, path)
  end
end


local function check_results()
  local schema = load "results"
  check_figures(schema, schema, "results")
  for name, rule in pairs(schema["$defs"]) do check_figures(schema, rule, name) end
end


-- ---- every schema ----

local function all_pages()
  local texts = {}
  for i, name in ipairs(assert(fs.list "docs")) do
    texts[i] = name:find "%.md$" and assert(fs.read("docs/" .. name)) or ""
  end
  return table.concat(texts)
end


-- A page tells of each schema, and the schema what its file is.
local function check_schemas()
  local texts, count = all_pages(), 0
  for _, file in ipairs(assert(fs.list "docs")) do
    local name = file:match "^([%l_]+)%.schema%.json$"
    if name then
      count = count + 1
      if not texts:find(("](%s)"):format(file), 1, true) then
        faults[#faults + 1] = ("docs/%s: no page links it"):format(file)
      end
      local schema = load(name)
      if schema.title ~= name .. ".json" or not schema.description then
        faults[#faults + 1] = ("docs/%s: no title, or no description"):format(file)
      end
    end
  end
  assert(count > 0, "no schemas")
end


check_schemas()
check_results()
table.sort(faults)
for _, fault in ipairs(faults) do io.stderr:write(fault, "\n") end
return #faults > 0 and 1 or 0
