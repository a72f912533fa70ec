-- Rows of the tables of sampled stacks, from results.
local stack_rows = {}


-- A function or frame of a stage's stacks as a row.
local function row(stage, given)
  return setmetatable({ stage = stage.stage, file = stage.file,
    self_share = given.self / stage.samples, total_share = given.total / stage.samples },
    { __index = given })
end


-- The rows of one stage; key: functions or tree.
function stack_rows.of(stage, key)
  local list = {}
  for i, given in ipairs(stage[key]) do list[i] = row(stage, given) end
  return list
end


local function of_all(key)
  return function(results)
    local list = {}
    for _, stage in ipairs(results.cpu_samples and results.cpu_samples.stages or {}) do
      local rows = stack_rows.of(stage, key)
      table.move(rows, 1, #rows, #list + 1, list)
    end
    return list
  end
end


-- Functions of every stage, those with most samples of their own first.
stack_rows.functions = of_all "functions"

-- The stacks of every stage, as a tree.
stack_rows.frames = of_all "tree"


return stack_rows
