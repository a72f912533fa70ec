-- The argument of commands that take a recipe: a path or a name.
local errors = require "llmprof.process.errors"
local out = require "llmprof.io.output"
local recipe = require "llmprof.recipe"

local argument = {}


-- The recipe that the first of the words names; example: a command line for the hint.
function argument.load(words, example)
  if #words == 0 then errors.raise("usage", "which recipe?", { hint = example }) end
  local made = recipe.load(words[1])
  if made.note then out.complain(made.note) end
  return made
end


return argument
