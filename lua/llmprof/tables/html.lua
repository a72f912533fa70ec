-- HTML: text that shows as it is, and JSON that stays inside its element.
local json = require "llmprof.json"
local text = require "llmprof.text"

local html = {}


-- Text for an element or a quoted attribute; control characters and malformed
-- bytes become U+FFFD, a newline a space.
html.escape = text.html


-- What would end a <script> or open a comment in it, as JSON's own escapes.
local in_script = { ["<"] = "\\u003c", [">"] = "\\u003e", ["&"] = "\\u0026" }


-- A value as JSON that may stand inside a <script> element.
function html.json(value)
  return (assert(json.encode(value)):gsub("[<>&]", in_script))
end


return html
