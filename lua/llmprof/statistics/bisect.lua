-- Bisection: where in a list that is in order something begins to hold.
local bisect = {}


-- The first place of 1 to count for which holds(place) is true, as it is for all behind
-- it; count + 1 where there is none.
function bisect.first(count, holds)
  local low, high = 1, count + 1
  while low < high do
    local middle = (low + high) // 2
    if holds(middle) then high = middle else low = middle + 1 end
  end
  return low
end


-- The first place of a rising list whose value is above `limit`; behind it for none.
function bisect.above(list, limit)
  return bisect.first(#list, function(place) return list[place] > limit end)
end


return bisect
