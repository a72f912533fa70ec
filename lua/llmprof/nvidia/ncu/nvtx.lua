-- NVTX ranges as ncu prints them in one cell:
--
--   1114  "<default domain>:decode:none:none:none:none:none:none"  "..."
--
-- the thread, then one quoted item per level, outermost first, two spaces in
-- between. An item is domain:range and six fields on payload, colour and
-- message. Quotes and colons inside a name are not escaped: the six fields
-- are cut from the right, and a piece too short to hold them was cut inside a
-- name and is joined with the next.
local nvtx = {}

local DEFAULT_DOMAIN = "<default domain>"
local TRAILING = (":[^:]*"):rep(6) .. "$"


local function items(text, fields)
  local list, pending = {}, nil
  local body = text:match '^%s*"(.*)"%s*$'
  if not body then return list end
  for piece, gap in (body .. '"  "'):gmatch '(.-)("%s+")' do
    piece = pending and pending .. piece or piece
    local _, colons = piece:gsub(":", "")
    if colons >= fields then
      list[#list + 1], pending = piece, nil
    else
      pending = piece .. gap
    end
  end
  if pending then list[#list + 1] = pending:gsub('"%s+"$', "") end
  return list
end


local function range(item)
  local domain, name = item:gsub(TRAILING, ""):match "^([^:]*):(.*)$"
  if not domain then return { name = item } end
  return { name = name, domain = domain ~= DEFAULT_DOMAIN and domain or nil }
end


-- nvtx.stack(cell) -> list of { name, domain }, outermost first, and the
-- thread's id where it is given. domain is nil for the default domain.
function nvtx.stack(cell)
  local thread, text = cell:match "^%s*(%d+)%s+(.*)$"
  local stack = {}
  for i, item in ipairs(items(text or cell, 7)) do
    stack[i] = range(item)
  end
  return stack, math.tointeger(tonumber(thread))
end


-- nvtx.ranges(cell) -> list of { id, name, domain }: start/stop ranges that
-- were open, in the order given. Their column's title puts an id before the
-- domain; an item without one has no id.
function nvtx.ranges(cell)
  local list = {}
  for i, item in ipairs(items(cell, 8)) do
    local id, rest = item:match "^(%d+):(.*)$"
    list[i] = range(rest or item)
    list[i].id = math.tointeger(tonumber(id))
  end
  return list
end


return nvtx
