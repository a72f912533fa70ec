-- One HTML file that needs nothing beside it: style, scripts and data are inside,
-- and a Content-Security-Policy lets run what was put there and nothing else.
local digest = require "llmprof.digest"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local lists = require "llmprof.tables.lists"
local text = require "llmprof.text"
local json = require "llmprof.json"
local resources = require "llmprof.resources"

local document = {}

local FOLDER = "lua/llmprof/report/html/"


-- Chart.js, or nil where llmprof was built without it.
function document.chart_js() return resources.get "third_party/chart.js" end


-- D3, or nil where llmprof was built without it.
function document.d3() return resources.get "third_party/d3.js" end


local function asset(name) return assert(files.own(FOLDER .. name)) end


-- The script of a folder: its modules, which modules.js starts.
local function script_of(name)
  local modules = lists.map(files.own_names(FOLDER .. name, ".js"), function(module)
    return ('"./%s": (module, require) => {\n%s},\n'):format(module,
      asset(("%s/%s.js"):format(name, module)))
  end)
  return ("startModules({\n%s});\n"):format(table.concat(modules))
end


-- The widths of bars, which a policy without inline styles leaves to classes.
local function widths()
  local rules = {}
  for i = 0, 100 do rules[i + 1] = (".w%d{--w:%d%%}"):format(i, i) end
  return table.concat(rules) .. "\n"
end


-- What a policy calls an inline element by: the digest of what is in it, as the
-- browser reads it.
function document.source_of(content)
  return ("'sha256-%s'"):format(digest.base64(digest.sha256(content)))
end


-- Content of an element that ends at its own closing tag only.
local function enclosed(tag, content)
  if content:find("\r", 1, true) then content = content:gsub("\r\n?", "\n") end
  local is_ended = content:lower():find("</" .. tag, 1, true) or content:find("<!--", 1, true)
  assert(not is_ended, "an asset of the page would end its own element")
  return content
end


local function policy(style, scripts)
  local sources = lists.map(scripts, document.source_of)
  return ("default-src 'none'; script-src %s; style-src %s; base-uri 'none'; form-action 'none'")
    :format(table.concat(sources, " "), document.source_of(style))
end


-- What would end a <script> or open a comment in it, as JSON's own escapes.
local in_script = { ["<"] = "\\u003c", [">"] = "\\u003e", ["&"] = "\\u0026" }


-- A value as JSON that may stand inside a <script> element.
function document.json(value) return (errors.check(json.encode(value)):gsub("[<>&]", in_script)) end


local HEAD = [[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="%s">
<title>%s</title>
]]


-- What the page runs, in that order.
local function scripts_of(given)
  local chart_js = document.chart_js()
  return lists.joined({ asset "modules.js" }, chart_js and { chart_js, script_of "charts" } or {},
    { script_of "page" }, given.flames and { script_of "flame" } or {},
    given.events and { document.d3(), script_of "timeline" } or {})
end


-- The page: title and generator are plain text, body is HTML, data what the
-- script draws, events what timelines do (a list of bytes, of as many figures; nil without),
-- flames: are there flame graphs.
function document.render(given)
  local style = enclosed("style", asset "page.css" .. widths())
  local scripts = lists.map(scripts_of(given), function(script)
    return enclosed("script", script)
  end)
  local out = { HEAD:format(text.html(policy(style, scripts)), text.html(given.generator),
      text.html(given.title)),
    "<style>", style, "</style>\n</head>\n<body>\n", given.body,
    '\n<script type="application/json" id="data">', document.json(given.data), "</script>\n" }
  local function add(...) lists.add(out, { ... }) end
  for i, events in ipairs(given.events or {}) do
    add(('<script type="application/octet-stream" id="events%s-data">'):format(i > 1 and i or ""),
      digest.base64(events), "</script>\n")
  end
  for _, script in ipairs(scripts) do add("<script>", script, "</script>\n") end
  add "</body>\n</html>\n"
  return table.concat(out)
end


return document
