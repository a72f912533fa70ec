-- The manual by topic: the pages of docs/, built in, and those of llmprof.query.reference.
local resources = require "llmprof.resources"

local manual = {}

local FOLDER = "docs/"


-- All topics, sorted: { name, title, path }, or in place of path kind and schema: which
-- function of llmprof.query.reference makes the page, of which JSON file.
function manual.topics()
  local topics = { { name = "keys", title = "Configuration keys", kind = "keys" },
    { name = "modules", title = "Lua modules written in C", kind = "modules" },
    { name = "columns", title = "Columns of tables", kind = "columns" },
    { name = "counters", title = "Sets of counters", kind = "counters" } }
  for _, path in ipairs(resources.list(FOLDER)) do
    local name, schema = path:match "([^/]+)%.md$", path:match "([^/]+)%.schema%.json$"
    if name then
      topics[#topics + 1] = { name = name:lower(), path = path,
        title = resources.get(path):match "^# ([^\n]*)" or name }
    elseif schema then
      topics[#topics + 1] = { name = schema .. ".json", kind = "fields", schema = schema,
        title = ("Fields of %s.json"):format(schema) }
    end
  end
  table.sort(topics, function(a, b) return a.name < b.name end)
  return topics
end


-- The Markdown of a topic, or of a module that is written in C, or nil.
function manual.page(name)
  for _, topic in ipairs(manual.topics()) do
    if topic.name == name:lower() then
      return topic.path and resources.get(topic.path)
        or require("llmprof.query.reference")[topic.kind](topic.schema)
    end
  end
  return require("llmprof.query.reference").module(name)
end


return manual
