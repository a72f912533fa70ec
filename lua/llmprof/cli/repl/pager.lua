-- More than fits the terminal, a screen at a time.
local out = require "llmprof.io.output"
local sys = require "llmprof.sys"

local pager = {}

local PROMPT = "-- %d more lines: any key, or q --"


local function split(text)
  local lines = {}
  for line in text:gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  return lines
end


local function wants_more(editor, left)
  out.write(PROMPT:format(left))
  out.flush()
  local key = editor:key()
  out.write(out.trusted "\r\27[K")
  return key ~= nil and key ~= "q" and key ~= "Q"
end


-- Print text that ends in a newline; the editor reads the keys.
function pager.print(text, editor)
  local height = sys.lines()
  local lines = height and split(text) or {}
  if #lines < (height or 0) or #lines == 0 then
    out.write(text)
    out.flush()
    return
  end
  local at, page = 1, height - 1
  while at <= #lines do
    out.write(table.concat(lines, "\n", at, math.min(at + page - 1, #lines)), "\n")
    at = at + page
    if at <= #lines and not wants_more(editor, #lines - at + 1) then return end
  end
  out.flush()
end


return pager
