-- A file for --config, of any bytes or config.yaml of a bundle with changes; and words of
-- the command line.
local config = require "llmprof.recipe.config"
local given = dofile "tests/fuzz/lua/given.lua"
local sweep = require "llmprof.compare.sweep"
local limits = require "llmprof.compare.limits"
local recipe = require "llmprof.recipe"
local yaml = require "llmprof.yaml"

local FILE = given.folder() .. "/config.yaml"
local made = recipe.load "recipes/deepseek_ocr.lua"
local sound = given.read "tests/fixtures/compare/eager/config.yaml"


local function compose(contents, words)
  given.write(FILE, contents)
  local composed = config.of_recipe(made, FILE, words)
  local text = config.to_yaml(composed)
  assert(yaml.decode(text))
  return composed
end


local ways = {
  function(input) compose(input:rest(), {}) end,
  function(input)
    local tree = yaml.decode(sound)
    given.change(tree, input)
    local text = yaml.encode(tree)
    if text then compose(text, {}) end
  end,
  function(input) compose(sound, { input:rest() }) end,
  function(input) limits.parse(input:rest()) end,
  function(input) sweep.combinations { input:rest(), "a=1,2" } end,
}


function fuzz(bytes) -- luacheck: ignore 111
  local input = given.input(bytes)
  given.try(input:pick(ways), input)
end
