-- Formulas over the metrics of a launch, as trees: said once, and then worked out of
-- one launch (value), or of all launches of a file at once, as steps over its columns
-- (steps). A node is { kind, operands ... }. What is computed from an absent number is
-- absent.
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

-- a where it is b or more, or more than b.
function formula.from(a, b) return { "from", a, b } end
function formula.above(a, b) return { "above", a, b } end


-- ---- of one launch ----

local work_out

-- By kind of node.
local kinds = {}

function kinds.metric(node, source) return source:metric(node[2], node[3]) end
function kinds.path(node, source) return source:path(node[2]) end
function kinds.number(node) return node[2] end


local function of_both_numbers(operator)
  return function(node, source, known)
    local a = work_out(node[2], source, known)
    local b = a and work_out(node[3], source, known)
    return b and operator(a, b)
  end
end

kinds.mul = of_both_numbers(function(a, b) return a * b end)
kinds.add = of_both_numbers(function(a, b) return a + b end)
kinds.div = of_both_numbers(function(a, b) return b ~= 0 and a / b or nil end)


function kinds.scale(node, source, known)
  local a = work_out(node[2], source, known)
  return a and node[3] * a
end


-- All that are there, folded from the first on.
local function folded_numbers(operator)
  return function(node, source, known)
    local made
    for i = 2, #node do
      local found = work_out(node[i], source, known)
      made = made and found and operator(made, found) or found or made
    end
    return made
  end
end

kinds.least = folded_numbers(math.min)
kinds.largest = folded_numbers(math.max)
kinds.sum = folded_numbers(function(a, b) return a + b end)


function kinds.first(node, source, known)
  for i = 2, #node do
    local found = work_out(node[i], source, known)
    if found then return found end
  end
  return nil
end


function kinds.given(node, source, known)
  return work_out(node[3], source, known) and work_out(node[2], source, known)
end


function kinds.unless(node, source, known)
  if work_out(node[3], source, known) then return nil end
  return work_out(node[2], source, known)
end


local function compared(holds)
  return function(node, source, known)
    local a, b = work_out(node[2], source, known), work_out(node[3], source, known)
    return a and b and holds(a, b) and a or nil
  end
end

kinds.from = compared(function(a, b) return a >= b end)
kinds.above = compared(function(a, b) return a > b end)


-- known: what nodes come to that were worked out before, of one launch; false: absent.
function work_out(node, source, known)
  local value = known[node]
  if value == nil then
    value = kinds[node[1]](node, source, known) or false
    known[node] = value
  end
  return value or nil
end


-- What a tree comes to, as a number or nil. source: methods metric(name, what) and
-- path(path), which give numbers or nil. known: a table for all trees that are worked out
-- of this source; what they share is worked out once.
function formula.value(node, source, known)
  return work_out(node, source, known or {})
end


-- ---- of all launches ----

-- Steps of llmprof.frame's compute, one behind the other; nil with an absent one.
local function joined(a, b, operator)
  if not (a and b) then return nil end
  local made = table.move(a, 1, #a, 1, {})
  table.move(b, 1, #b, #made + 1, made)
  made[#made + 1] = operator
  return made
end


local steps_of

-- All that are there, folded from the first on.
local function folded(operator)
  return function(node, source)
    local made
    for i = 2, #node do
      local steps = steps_of(node[i], source)
      made = made and steps and joined(made, steps, operator) or steps or made
    end
    return made
  end
end


local function of_both(operator)
  return function(node, source)
    return joined(steps_of(node[2], source), steps_of(node[3], source), operator)
  end
end


local compiled = {
  metric = function(node, source) return source:metric(node[2], node[3]) end,
  path = function(node, source) return source:path(node[2]) end,
  number = function(node) return { node[2] } end,
  scale = function(node, source) return joined({ node[3] }, steps_of(node[2], source), "*") end,
  mul = of_both "*", add = of_both "+", div = of_both "/", given = of_both "where",
  from = of_both "from", above = of_both "above",
  least = folded "least", first = folded "or", largest = folded "most", sum = folded "together",
  unless = function(node, source)
    local steps, condition = steps_of(node[2], source), steps_of(node[3], source)
    return condition and joined(steps, condition, "unless") or steps
  end,
}


function steps_of(node, source)
  return compiled[node[1]](node, source)
end


-- A tree as steps over columns; nil where it is absent in every row. source: as for
-- value, of methods that give steps or nil.
function formula.steps(node, source)
  return steps_of(node, source)
end


return formula
