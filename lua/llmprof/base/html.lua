-- HTML: text that shows as it is, and JSON that stays inside its element.
local json = require "llmprof.json"
local text = require "llmprof.text"

local html = {}

local entities = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;",
  ["'"] = "&#39;" }


-- Text for an element or a quoted attribute; control characters and malformed
-- bytes become U+FFFD, a newline a space.
function html.escape(value)
  local clean = text.clean(value)
  if not clean:find "[&<>\"']" then return clean end
  return (clean:gsub("[&<>\"']", entities))
end


-- What would end a <script> or open a comment in it, as JSON's own escapes.
local in_script = { ["<"] = "\\u003c", [">"] = "\\u003e", ["&"] = "\\u0026" }


-- A value as JSON that may stand inside a <script> element.
function html.json(value)
  return (assert(json.encode(value)):gsub("[<>&]", in_script))
end


return html
