-- The manual: the pages of docs/, built in, by topic.
local fs = require "llmprof.fs"
local resources = require "llmprof.resources"

local manual = {}

local FOLDER = "docs/"


-- A page: that of $LLMPROF_HOME, else the one built in.
local function read(path)
  local home = os.getenv "LLMPROF_HOME"
  return home and fs.read(home .. "/" .. path) or resources.get(path)
end


-- All topics, sorted: { name, title, path }.
function manual.topics()
  local topics = {}
  for _, path in ipairs(resources.list(FOLDER)) do
    local name = path:match "([^/]+)%.md$"
    if name then
      topics[#topics + 1] = { name = name:lower(), path = path,
        title = read(path):match "^# ([^\n]*)" or name }
    end
  end
  table.sort(topics, function(a, b) return a.name < b.name end)
  return topics
end


-- The Markdown of a topic, or nil.
function manual.page(name)
  for _, topic in ipairs(manual.topics()) do
    if topic.name == name:lower() then return read(topic.path) end
  end
  return nil
end


return manual
