-- A small generator of random numbers with a state of its own: the same seed
-- gives the same numbers on every machine, whatever else draws any.
--
-- SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, figure 16): a counter that
-- steps by the golden ratio's 64 bits, and a mix of its bits. Good enough to
-- resample with, not for secrets.
local random = {}


local function mix(z)
  z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
  z = (z ~ (z >> 27)) * 0x94D049BB133111EB
  return z ~ (z >> 31)
end


-- A function that gives the next 64 bits as an integer, or with n a whole number
-- from 1 to n; n is at most 2^53.
function random.new(seed)
  local state = seed
  return function(n)
    state = state + 0x9E3779B97F4A7C15
    local bits = mix(state)
    if not n then return bits end
    return math.floor((bits >> 11) * 0x1p-53 * n) + 1
  end
end


return random
