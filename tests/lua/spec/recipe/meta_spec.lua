-- What editors are told of recipes and results is what there is. That the types
-- are right too is for tests/lint/meta.lua.
local defaults = require "llmprof.recipe.defaults"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local query = require "llmprof.query"
local recipe = require "llmprof.recipe"

-- The names that follow each "---@class NAME", up to the next, by class.
local function fields_by_class()
  local classes, current = {}, nil -- its name
  for line in assert(fs.read "lua/llmprof/meta.lua"):gmatch "[^\n]+" do
    local class, field = line:match "^%-%-%-@class (%S+)", line:match "^%-%-%-@field (%w[%w_]*)"
    if class then
      current, classes[class] = class, {}
    elseif field then
      classes[current][field] = true
    end
  end
  return classes
end


describe("the annotations", function()
  local classes = fields_by_class()

  local function check(class, names)
    for name in pairs(names) do
      assert.is_true(classes[class] ~= nil and classes[class][name] == true,
        ("%s has no field %s"):format(class, name))
    end
  end

  it("have every field of a recipe, and no other", function()
    check("llmprof.Recipe", recipe.fields)
    for name in pairs(classes["llmprof.Recipe"]) do assert.is_not_nil(recipe.fields[name], name) end
  end)

  it("have every key of the configuration", function()
    for key in pairs(defaults) do
      local group, name = key:match "^([^.]+)%.(.+)$"
      check(group and "llmprof.Config." .. group or "llmprof.Config", { [name or key] = true })
    end
  end)

  it("have every field of results.json", function()
    local schema = assert(json.load "docs/results.schema.json")
    check("llmprof.Results", schema.properties)
    for name, definition in pairs(schema["$defs"]) do
      if definition.properties then check("llmprof.results." .. name, definition.properties) end
    end
  end)

  it("have the methods of frames", function()
    local text = assert(fs.read "lua/llmprof/meta.lua")
    for _, name in ipairs(query.methods) do
      assert.is_truthy(text:find(("\nfunction Frame:%s("):format(name), 1, true), name)
    end
  end)
end)
