-- Formulas over columns of launches, as steps of llmprof.frame's compute, one behind the other,
-- so that all launches of a file are worked out at once. What is computed from an absent number
-- is absent; false: absent in every row.
local lists = require "llmprof.tables.lists"

local formula = {}


local function joined(a, b, operator)
  return a and b and lists.joined(a, b, { operator })
end


function formula.mul(a, b) return joined(a, b, "*") end
function formula.add(a, b) return joined(a, b, "+") end
function formula.scale(factor, a) return joined({ factor }, a, "*") end

-- Absent too where b is 0.
function formula.div(a, b) return joined(a, b, "/") end

-- a where b is there, or is not; and where it is more than b.
function formula.given(a, b) return joined(a, b, "where") end
function formula.unless(a, b) return joined(a, b, "unless") or a end
function formula.above(a, b) return joined(a, b, "above") end


-- Of a list all that are there, folded from the first on.
local function folded(operator)
  return function(list)
    local made = false
    for _, steps in ipairs(list) do made = joined(made, steps, operator) or steps or made end
    return made
  end
end


-- Of a list: the first, the smallest, the largest, the sum of those that are there.
formula.first, formula.least = folded "or", folded "least"
formula.largest, formula.sum = folded "most", folded "together"


return formula
