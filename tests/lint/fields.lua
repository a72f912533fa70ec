-- Does a page link each schema of docs/, does docs/results.md list every field of
-- results.json, and does each figure have its sentence? Run by llmprof exec, in the
-- source tree; --update writes the page's tables.
local fs = require "llmprof.fs"
local json = require "llmprof.json"

local PAGE, NAME = "docs/results.md", "results"
local START, STOP = "<!-- fields -->\n", "<!-- end of fields -->\n"

local faults = {}


local function load(name)
  return assert(json.load(("docs/%s.schema.json"):format(name), { ordered = true }))
end


local function definition_of(schema, rule)
  local target = rule["$ref"]
  if not target then return nil end
  local other = target:match "^(%l+)%.schema%.json$"
  if other then return load(other), nil, other end
  local name = target:match "[^/]+$"
  return schema["$defs"][name], name
end


local function scalar_text(rule)
  if rule.enum then return "`" .. table.concat(rule.enum, "`, `") .. "`" end
  if rule.const ~= nil then return ("`%s`"):format(rule.const) end
  if type(rule.type) ~= "table" then return rule.type or "any" end
  local kinds = {}
  for _, kind in ipairs(rule.type) do
    if kind ~= "null" then kinds[#kinds + 1] = kind end
  end
  return table.concat(kinds, " or ")
end


-- The type of a field, and what it says of itself elsewhere.
local function describe(schema, rule)
  local definition, name, other = definition_of(schema, rule)
  if other then
    return ("[%s.json](%s.schema.json)"):format(other, other), definition.description
  end
  if definition and definition.properties then
    return ("[%s](#%s)"):format(name, name), definition.description
  elseif definition then
    local text, about = describe(schema, definition)
    return text, definition.description or about
  elseif rule.type == "array" then
    return "list of " .. (rule.items and describe(schema, rule.items) or "any"), nil
  elseif rule.type == "object" and type(rule.additionalProperties) == "table" then
    return "object of " .. describe(schema, rule.additionalProperties), nil
  end
  return scalar_text(rule), nil
end


local function check_figure(where, kind, about)
  if (kind == "number" or kind == "integer") and not about then
    faults[#faults + 1] = ("docs/%s.schema.json: %s: a figure without a description"):format(NAME,
      where)
  end
end


local function cell(text)
  return (text:gsub("|", "\\|"):gsub("<", "&lt;"))
end


local function add_rows(schema, rule, prefix, where, lines)
  local required = {}
  for _, name in ipairs(rule.required or {}) do required[name] = true end
  for _, name in ipairs(getmetatable(rule.properties).__keys) do
    local field = rule.properties[name]
    local kind, elsewhere = describe(schema, field)
    local about = field.description or elsewhere
    check_figure(where .. "." .. prefix .. name, kind, about)
    lines[#lines + 1] = ("| `%s%s` | %s%s | %s |"):format(prefix, name, kind,
      required[name] and "" or ", or absent", cell(about or ""))
    local inner = field.items or field
    if inner.properties then
      add_rows(schema, inner, prefix .. name .. (field.items and "[]." or "."), where, lines)
    end
  end
end


local function table_of(schema, rule, where)
  local lines = { "| field | type | meaning |", "|---|---|---|" }
  add_rows(schema, rule, "", where, lines)
  return table.concat(lines, "\n") .. "\n"
end


local function page_text()
  local schema = load(NAME)
  local pieces = { table_of(schema, schema, NAME) }
  for _, name in ipairs(getmetatable(schema["$defs"]).__keys) do
    local rule = schema["$defs"][name]
    if rule.properties then
      pieces[#pieces + 1] = ("## %s\n%s\n%s"):format(name,
        rule.description and "\n" .. rule.description .. ".\n" or "", table_of(schema, rule, name))
    end
  end
  return "\n" .. table.concat(pieces, "\n") .. "\n"
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
local page, wanted = assert(fs.read(PAGE)), page_text()
local _, first = page:find(START, 1, true)
local last = page:find(STOP, 1, true)
if page:sub(first + 1, last - 1) ~= wanted then
  if ... == "--update" then
    assert(fs.write(PAGE, page:sub(1, first) .. wanted .. page:sub(last)))
  else
    faults[#faults + 1] = ("%s is not what docs/%s.schema.json says: "
      .. "llmprof exec tests/lint/fields.lua --update"):format(PAGE, NAME)
  end
end
for _, fault in ipairs(faults) do io.stderr:write(fault, "\n") end
return #faults > 0 and 1 or 0
