-- Text with codes for a terminal in it. A plain string that is joined to it is text of
-- unknown origin, and loses whatever a terminal would act on; so does everything that is
-- printed (llmprof.io.output).
local text = require "llmprof.text"

local styled = {}

local Styled = {}


-- What to send for a value: a styled text as it is, anything else shown.
function styled.bytes(value)
  if getmetatable(value) == Styled then return value.bytes end
  return text.clean_lines(tostring(value))
end


-- Bytes that are ours, to be sent as they are.
function styled.trusted(bytes)
  return setmetatable({ bytes = bytes }, Styled)
end


function Styled.__concat(left, right)
  return styled.trusted(styled.bytes(left) .. styled.bytes(right))
end


-- For what only looks at it: the codes show.
function Styled:__tostring()
  return text.clean_lines(self.bytes)
end


return styled
