-- Formulas over the metrics of a launch, as trees: said once, and worked out of all launches of
-- a file at once, as steps over its columns. A node is { kind, operands ... }. What is computed
-- from an absent number is absent.
local lists = require "llmprof.tables.lists"

local formula = {}


-- what: kind of unit that the metric must be in, as the resolver knows them.
function formula.metric(name, what) return { "metric", name, what } end

-- A number that was made before, by its path.
function formula.path(path) return { "path", path } end

function formula.number(value) return { "number", value } end
function formula.mul(a, b) return { "mul", a, b } end
function formula.add(a, b) return { "add", a, b } end
function formula.scale(factor, node) return { "scale", node, factor } end

-- Absent too where b is 0.
function formula.div(a, b) return { "div", a, b } end

-- The smaller; that which is there where the other is not.
function formula.least(a, b) return { "least", a, b } end

-- Of a list: the first, the largest, the sum of those that are there.
function formula.first(list) return { "first", table.unpack(list) } end
function formula.largest(list) return { "largest", table.unpack(list) } end
function formula.sum(list) return { "sum", table.unpack(list) } end

-- The node where the other is there, or is not.
function formula.given(node, condition) return { "given", node, condition } end
function formula.unless(node, condition) return { "unless", node, condition } end

-- a where it is more than b.
function formula.above(a, b) return { "above", a, b } end


-- Steps of llmprof.frame's compute, one behind the other; nil with an absent one.
local function joined(a, b, operator)
  return a and b and lists.joined(a, b, { operator })
end


-- All that are there, folded from the first on.
local function folded(operator)
  return function(node, source)
    local made
    for i = 2, #node do
      local steps = formula.steps(node[i], source)
      made = made and steps and joined(made, steps, operator) or steps or made
    end
    return made
  end
end


local function of_both(operator)
  return function(node, source)
    return joined(formula.steps(node[2], source), formula.steps(node[3], source), operator)
  end
end


local compiled = {
  metric = function(node, source) return source:metric(node[2], node[3]) end,
  path = function(node, source) return source:path(node[2]) end,
  number = function(node) return { node[2] } end,
  scale = function(node, source)
    return joined({ node[3] }, formula.steps(node[2], source), "*")
  end,
  mul = of_both "*", add = of_both "+", div = of_both "/", given = of_both "where",
  above = of_both "above",
  least = folded "least", first = folded "or", largest = folded "most", sum = folded "together",
  unless = function(node, source)
    local steps, condition = formula.steps(node[2], source), formula.steps(node[3], source)
    return condition and joined(steps, condition, "unless") or steps
  end,
}


-- A tree as steps over columns; nil where it is absent in every row. source: methods metric(name,
-- what) and path(path), which give steps or nil.
function formula.steps(node, source) return compiled[node[1]](node, source) end


return formula
