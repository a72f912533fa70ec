-- What editors are told of recipes, results and frames is what there is.
local annotations = require "llmprof.query.annotations"
local query = require "llmprof.query"
local recipe = require "llmprof.recipe"


describe("the annotations", function()
  local text = annotations.text()

  it("have every field of a recipe, and no other", function()
    local class = text:match "\n%-%-%-@class llmprof.Recipe\n(.-)\n\n"
    local known = {}
    for name in class:gmatch "%-%-%-@field (%w[%w_]*)" do
      assert.is_not_nil(recipe.fields[name], name)
      known[name] = true
    end
    for name in pairs(recipe.fields) do assert.is_true(known[name], name) end
  end)

  it("have keys, results and modules with their types", function()
    for _, line in ipairs { '---@field capture "auto"|"nsys"', "---@field mode? string",
      "---@class llmprof.Results", "---@field stages llmprof.results.stage[]",
      "---@class llmprof.csv", "---@field open fun(...): llmprof.csv.reader?" } do
      assert.is_truthy(text:find("\n" .. line, 1, true), line)
    end
  end)

  it("have the methods of frames", function()
    for _, name in ipairs(query.methods) do
      assert.is_truthy(text:find(("\nfunction Frame:%s("):format(name), 1, true), name)
    end
  end)
end)
