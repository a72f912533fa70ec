-- Does an output fit a pattern of lines, in which "..." is any lines?
local compare = {}


-- From wanted[w] and got[g] on.
local function fits(wanted, w, got, g)
  while w <= #wanted do
    if wanted[w] == "..." then
      for from = g, #got + 1 do
        if fits(wanted, w + 1, got, from) then return true end
      end
      return false
    end
    if wanted[w] ~= got[g] then return false end
    w, g = w + 1, g + 1
  end
  return g == #got + 1
end


function compare.fits(wanted, got)
  return fits(wanted, 1, got, 1)
end


return compare
