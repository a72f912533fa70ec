-- Traces that are going to be compared, read and analysed beside each other by several
-- processes. What does not come about so is done when it is asked for, by this process alone.
local bare = require "llmprof.compare.bare"
local beside = require "llmprof.base.beside"
local errors = require "llmprof.base.errors"

local ahead = {}

-- Bytes of traces below which a process costs more than it saves. Tests change this and the next.
ahead.LEAST = 64 << 20

-- Memory that analysing a trace takes, as a multiple of its size.
ahead.WEIGHT = 1.5


-- Results by path, of those that have some.
local function results_of(paths)
  local made = {}
  for _, path in ipairs(paths) do
    local ok, results = errors.call(bare.results, path)
    if ok then made[path] = results elseif errors.is_interrupt(results) then error(results, 0) end
  end
  return made
end


-- The paths by process, this one's first.
local function hands_of(paths)
  local sizes, all = beside.sizes(paths)
  if #paths < 2 or all < ahead.LEAST then return { paths } end
  local hands = beside.hands(sizes, ahead.WEIGHT)
  for _, hand in ipairs(hands) do
    for i, number in ipairs(hand) do hand[i] = paths[number] end
  end
  return hands
end


local function read_together(hands)
  local works = {}
  for i = 2, #hands do works[i - 1] = { function() return results_of(hands[i]) end } end
  local crew <close> = beside.begin(works)
  local all = results_of(hands[1])
  for i = 1, #works do
    local ok, made = crew:take(i)
    for path, results in pairs(ok and made or {}) do all[path] = results end
  end
  return all
end


-- A function from a path to results, as llmprof.compare.bare makes them, for these paths above
-- all. What is asked for twice is the same table.
function ahead.read(paths)
  local hands = hands_of(paths)
  local made = #hands > 1 and read_together(hands) or {}
  return function(path)
    made[path] = made[path] or bare.results(path)
    return made[path]
  end
end


return ahead
