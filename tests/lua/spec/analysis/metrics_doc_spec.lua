-- The arithmetic in tests/truth/BY_HAND.md: that it is right, and that it is what the
-- code gives for the recorded capture.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local model = require "llmprof.model"


-- Rows "| figure | `arithmetic` | comes to |" in their order:
-- { figure, arithmetic, value }.
local function rows_of(text)
  local rows = {}
  for figure, arithmetic, value in text:gmatch "\n| ([^|\n]+) | `([^`\n]+)` | ([%d,]+) |" do
    rows[#rows + 1] = { figure = figure, arithmetic = arithmetic,
      value = math.tointeger((value:gsub(",", ""))) }
  end
  return rows
end


-- The value of a figure that names a place: "decode.mfu", "step.bytes".
local function computed(name, results, step)
  local owner, key = name:match "^`(%w+)%.([%w_]+)`"
  if owner == "step" then return step[key] end
  for _, stage in ipairs(results.stages) do
    if stage.name == owner then
      local quantity = stage.efficiency[key]
      if key == "mfu" or key == "mbu" then return quantity.value * 1e9 end
      return type(quantity) == "table" and quantity.value or quantity or stage.cost[key]
    end
  end
  return nil
end


describe("tests/truth/BY_HAND.md", function()
  local top = bundle.scratch(before_each, after_each)
  local rows = rows_of(assert(fs.read "tests/truth/BY_HAND.md"))

  it("has arithmetic that comes to what it says", function()
    assert.equal(34, #rows)
    for _, row in ipairs(rows) do
      local value = assert(load("return " .. row.arithmetic))()
      assert.equal(row.value, math.floor(value + 0.5), row.figure)
    end
  end)

  it("has the figures of the recorded capture", function()
    local ctx, failure = bundle.run("recipes/deepseek_ocr.lua", top() .. "/run",
      { "capture=recorded", "recorded=tests/fixtures/recorded/deepseek_ocr" })
    assert.is_nil(failure)
    local arch = model.load "conf/model/deepseek_ocr.yaml"
    local step = model.decode(arch, { steps = 1, context = 281, batch = 1 })
    local checked = 0
    for _, row in ipairs(rows) do
      if row.figure:sub(1, 1) == "`" then
        local value = computed(row.figure, ctx.fields.results, step)
        assert.equal(row.value, math.floor(value + 0.5), row.figure)
        checked = checked + 1
      end
    end
    assert.equal(22, checked)
  end)

  it("names the weights of the encoders", function()
    local arch = model.load "conf/model/deepseek_ocr.yaml"
    local image, weights = { { count = 1, size = 1024 } }, {}
    for i, name in ipairs { "sam", "clip", "projector" } do
      weights[i] = model.encode(arch, name, image).weight_bytes / 2
    end
    assert.same({ 95569152.0, 302575616.0, 2622720.0 }, weights)
  end)

  it("lists the model types that are known", function()
    local text = assert(fs.read "docs/metrics.md"):gsub("%s+", " ")
    local listed = text:match "a Hugging Face `config.json`: (.-) 2%."
    local ok, err = pcall(model.from_config, "tests/fixtures/model/unknown.json")
    assert.is_false(ok)
    assert.equal(listed, err.hint:match "known: (.-);")
  end)
end)
