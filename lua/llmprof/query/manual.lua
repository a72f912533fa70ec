-- The manual by topic: the pages of docs/, built in, and the fields of results.json.
local resources = require "llmprof.resources"

local manual = {}

local FOLDER = "docs/"


-- All topics, sorted: { name, title, path }. What has no path is made from a schema.
function manual.topics()
  local topics = { { name = "results", title = "Fields of results.json" } }
  for _, path in ipairs(resources.list(FOLDER)) do
    local name = path:match "([^/]+)%.md$"
    if name then
      topics[#topics + 1] = { name = name:lower(), path = path,
        title = resources.get(path):match "^# ([^\n]*)" or name }
    end
  end
  table.sort(topics, function(a, b) return a.name < b.name end)
  return topics
end


-- The Markdown of a topic, or nil.
function manual.page(name)
  for _, topic in ipairs(manual.topics()) do
    if topic.name == name:lower() then
      return topic.path and resources.get(topic.path)
        or require("llmprof.query.field_page").markdown(topic.name)
    end
  end
  return nil
end


return manual
