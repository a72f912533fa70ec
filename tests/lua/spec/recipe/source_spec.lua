local fs = require "llmprof.fs"
local recipe = require "llmprof.recipe"

-- Every way to write a field, and words that look like one where they are none.
local RECIPE = [==[
local llm = require "llmprof.recipe"
-- stage = "in a comment", colour too
local stages_of = { stage = 1, words = { "return {", 'stage = ', [[
  stage = { "in a long string" } ]] } }
local function workload(cfg)
  local stage, list = cfg.stage, { colour = 1 }
  for i = 1, 2 do list[i] = function() return { stage = i } end end
  if stage == nil then repeat stage = 1 until stage else while false do break end end
  return { argv = { "true" }, env = list }
end

return llm.recipe {
  name = "r", workload = workload, ["model"] = { name = "m",
    dtype = "bf16" }; --[[ a comment
  of two lines ]] options = {
    ["infer.batch"] = { "Sequences", 1 },
    ["colour"] = { "\"} of it", 2 },
  },
  stages = {
    "prefill",
    { "decode", step = "s",
      children = { "a",
        "b" } },
    [7] = { "late" },
  },
  advise = function(results) return { { title = "x", stage = "y" } } end,
  stage = { "z" },
}
]==]


local function line(...)
  return recipe.line_of(RECIPE, { ... })
end


describe("the line of a field", function()
  it("finds a field of the table that is returned", function()
    assert.same({ 13, 13, 13, 26 }, { line "name", line "workload", line "model",
      line "advise" })
    assert.equal(27, line "stage")
    assert.equal(15, line "options")
  end)

  it("finds what lies in it", function()
    assert.same({ 13, 14 }, { line("model", "name"), line("model", "dtype") })
    assert.same({ 16, 17 }, { line("options", "infer.batch"), line("options", "colour") })
    assert.same({ 20, 21, 21, 22, 22, 23 }, { line("stages", 1), line("stages", 2),
      line("stages", 2, "step"), line("stages", 2, "children"), line("stages", 2, "children", 1),
      line("stages", 2, "children", 2) })
    assert.equal(24, line("stages", 7))
  end)

  it("says as much as it can find", function()
    assert.equal(21, line("stages", 2, "nowhere"))
    assert.equal(13, line("name", "x"))
    assert.is_nil(line "nowhere")
    assert.is_nil(line())
  end)

  it("takes a field that is written elsewhere where the table is built first", function()
    local text = 'local r = { name = "r",\n stagse = {} }\nreturn llm.recipe(r)\n'
    assert.equal(2, recipe.line_of(text, { "stagse" }))
  end)

  it("ends with any text", function()
    for _, text in ipairs { "", "return", "return {", "return { a = ", "return { 'x", "return { [[",
      "return { --[[", 'return { "\\', "end end return {}", "return { a = b c = 1 }" } do
      assert.is_true(recipe.line_of(text, { "a", 1 }) == nil or text:find "a = " ~= nil, text)
    end
    for i = 1, #RECIPE, 7 do recipe.line_of(RECIPE:sub(1, i), { "stages", 2, "children", 2 }) end
  end)

  it("finds every field of the recipes that ship", function()
    for _, name in ipairs { "deepseek_ocr", "alt_llm", "toy_llm" } do
      local text = assert(fs.read("recipes/" .. name .. ".lua"))
      for _, key in ipairs { "name", "workload" } do
        local number = assert(recipe.line_of(text, { key }), name .. ": " .. key)
        local lines = {}
        for found in (text .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = found end
        assert.matches("%f[%w]" .. key .. "%f[%W]", lines[number], 1)
      end
    end
  end)
end)
