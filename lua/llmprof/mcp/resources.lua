-- What a client may read: the digest and the reports of runs, and the manual.
local artifacts = require "llmprof.bundle.artifacts"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local manual = require "llmprof.query.manual"

local mcp_resources = {}

-- Runs whose reports are listed; any run can be read.
local NEWEST = 20

-- Bytes of a report that are read; those of a run with all tables have less than 1 MB.
local MOST = 16 << 20

local RUNS, DOCS = "llmprof://runs/", "llmprof://docs/"

-- Of a bundle, by what they are called there: those that are text to read.
local REPORTS = {}
for _, file in ipairs(layout.best_reports) do
  if file ~= layout.reports.page then REPORTS[#REPORTS + 1] = file end
end


local function entry(uri, name, kind)
  return { uri = uri, name = name, mimeType = kind }
end


function mcp_resources.list(root)
  local made, runs = {}, artifacts.list(root)
  for i = #runs, math.max(1, #runs - NEWEST + 1), -1 do
    for _, file in ipairs(REPORTS) do
      if fs.stat(runs[i].dir .. "/" .. file) then
        made[#made + 1] = entry(RUNS .. runs[i].id .. "/" .. file, runs[i].id .. ": " .. file,
          "text/markdown")
      end
    end
  end
  for _, topic in ipairs(manual.topics()) do
    local name = topic.path and topic.path:match "[^/]+$" or topic.name .. ".md"
    made[#made + 1] = entry(DOCS .. name, "manual: " .. name, "text/markdown")
  end
  return json.list(made)
end


function mcp_resources.templates()
  return json.list {
    { uriTemplate = RUNS .. "{run}/{file}", name = "a report of a run", mimeType = "text/markdown",
      description = "file: " .. table.concat(REPORTS, ", ") },
    { uriTemplate = DOCS .. "{page}", name = "a page of the manual", mimeType = "text/markdown" },
  }
end


local function report(root, id, wanted)
  for _, file in ipairs(REPORTS) do
    for _, run in ipairs(file == wanted and artifacts.list(root) or {}) do
      if run.id == id then
        artifacts.check_links(run.dir)
        local path = run.dir .. "/" .. file
        local info = fs.stat(path)
        if not info then return nil end
        if info.type ~= "file" then errors.raise("failed", path .. ": not a regular file") end
        return errors.check(fs.read(path, MOST))
      end
    end
  end
  return nil
end


-- The text of a resource; nil when there is none, and what is none that can be read raises.
function mcp_resources.read(root, uri)
  local id, file = uri:match "^llmprof://runs/([^/]+)/([^/]+)$"
  if id then return report(root, id, file) end
  local page = uri:match "^llmprof://docs/([%w_-]+)%.md$"
  return page and manual.page(page)
end


return mcp_resources
