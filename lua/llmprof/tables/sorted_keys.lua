-- The keys of a table as a sorted list; where names and numbers mix, by their
-- text.
local function by_text(a, b)
  if type(a) == type(b) then return a < b end
  return tostring(a) < tostring(b)
end


return function(map)
  local keys, mixed = {}, false
  for key in pairs(map) do
    keys[#keys + 1] = key
    mixed = mixed or type(key) ~= type(keys[1])
  end
  table.sort(keys, mixed and by_text or nil)
  return keys
end
