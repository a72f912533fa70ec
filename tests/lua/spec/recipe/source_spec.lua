local fs = require "llmprof.fs"
local recipe = require "llmprof.recipe"

-- Ways to write a field, and words that look like one where they are none.
local RECIPE = [==[
local llm = require "llmprof.recipe"
-- , stage = "in a comment", colour = too
local stages_of = { stage = 1 }
local function workload(cfg)
  local stage = cfg.stage
  return { argv = { "true" } }
end

return llm.recipe {
  name = "r", workload = workload, ["model"] = { name = "m",
    dtype = "bf16" },
  options = { -- stages = {},
    ["infer.batch"] = { "Sequences", 1 },
    ["colour"] = { "Text", 2 },
  },
  flops = function() local stage = 1; return stage end,
  stages = {
    "prefill",
    { "decode", step = "s",
      children = { "a",
        "prefill" } },
  },
  stage = { "z" },
}
]==]


local function line(...)
  return recipe.line_of(RECIPE, { ... })
end


describe("the line of a field", function()
  it("is where the table that is returned has it", function()
    assert.same({ 10, 10, 10, 16 }, { line "name", line "workload", line "model", line "flops" })
    assert.same({ 12, 17, 23 }, { line "options", line "stages", line "stage" })
    assert.same({ 10, 11 }, { line("model", "name"), line("model", "dtype") })
    assert.same({ 13, 14 }, { line("options", "infer.batch"), line("options", "colour") })
    assert.same({ 18, 19, 19, 20, 20 }, { line("stages", "prefill"), line("stages", "decode"),
      line("stages", "decode", "step"), line("stages", "decode", "children"),
      line("stages", "decode", "children", "a") })
    assert.equal(21, line("stages", "prefill", "prefill")) -- again
  end)

  it("is that of as much as can be found", function()
    assert.equal(19, line("stages", "decode", "nowhere"))
    assert.equal(10, line("name", "x"))
    assert.is_nil(line "nowhere")
    assert.is_nil(line())
  end)

  it("is where it is written if the table is built first", function()
    local text = 'local r = { name = "r",\n stagse = {} }\nreturn llm.recipe(r)\n'
    assert.equal(2, recipe.line_of(text, { "stagse" }))
  end)

  it("is found behind a text with -- in it", function()
    local text = 'return llm.recipe {\n name = "a--b", options = { { "-- no" } }, bad = 1,\n}\n'
    assert.equal(2, recipe.line_of(text, { "bad" }))
    assert.equal(2, recipe.line_of(text .. "-- don't, bad = 1\n", { "bad" }))
  end)

  it("is found in every recipe that ships", function()
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
