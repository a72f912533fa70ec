-- Bars of block characters, in steps of an eighth of a column.
local bars = {}

local eighths = { "▏", "▎", "▍", "▌", "▋", "▊", "▉" }


-- A bar for a share (0..1) of a width in columns; something is shown for anything
-- above 0.
function bars.bar(share, width)
  local units = math.floor(share * width * 8 + 0.5)
  if units == 0 and share > 0 then units = 1 end
  return ("█"):rep(units // 8) .. (eighths[units % 8] or "")
end


return bars
