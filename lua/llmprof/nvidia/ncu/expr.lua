-- Numbers that remember how they were made. An expression is
-- { value, formula, inputs, sum }: inputs is a list of { name, value, unit }
-- in the order of the formula. Anything computed from an absent expression is
-- absent, so that a missing metric never turns into a zero.
local expr = {}


function expr.input(name, value, unit)
  if not value then return nil end
  return { value = value + 0.0, formula = name,
    inputs = { { name = name, value = value, unit = unit } } }
end


local function join(a, b)
  local inputs, seen = {}, {}
  for _, list in ipairs { a.inputs, b.inputs } do
    for _, input in ipairs(list) do
      if not seen[input.name] then
        seen[input.name] = true
        inputs[#inputs + 1] = input
      end
    end
  end
  return inputs
end


local function factor(e)
  return e.sum and "(" .. e.formula .. ")" or e.formula
end


function expr.mul(a, b)
  return { value = a.value * b.value, formula = factor(a) .. " * " .. factor(b),
    inputs = join(a, b) }
end


function expr.scale(k, e)
  return { value = k * e.value, formula = ("%d * %s"):format(k, factor(e)), inputs = e.inputs }
end


-- Absent too when b is 0. Both sides are inputs or sums, never products.
function expr.div(a, b)
  if b.value == 0 then return nil end
  return { value = a.value / b.value, formula = factor(a) .. " / " .. factor(b),
    inputs = join(a, b) }
end


function expr.add(a, b)
  return { value = a.value + b.value, formula = a.formula .. " + " .. b.formula,
    inputs = join(a, b), sum = true }
end


-- The smaller of both.
function expr.least(a, b)
  return { value = math.min(a.value, b.value),
    formula = ("min(%s, %s)"):format(a.formula, b.formula), inputs = join(a, b) }
end


function expr.number(value)
  return { value = value + 0.0, formula = ("%g"):format(value), inputs = {} }
end


function expr.value(e)
  return e.value
end


return expr
