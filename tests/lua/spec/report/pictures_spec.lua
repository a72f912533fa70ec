-- Small pictures of steps and layers.
local html = require "llmprof.report.write.html"
local markdown = require "llmprof.report.write.markdown"
local multiples = require "llmprof.report.pictures"


local function step(phase, rank, length, busy, waiting)
  return { phase = phase, rank = rank, start_ns = 0, end_ns = 1, length_ns = length,
    busy_ns = busy, waiting_ns = waiting }
end


local function of(rows, count)
  local ranks = {}
  for i = 1, count or 1 do ranks[i] = { rank = i - 1 } end
  return { ranks = { ranks = ranks, step_rows = rows } }
end


describe("small pictures", function()
  it("put ranks of a stage beside each other, on one scale", function()
    local block = multiples.steps(of({ step("decode", 0, 4e6, 2e6, 1e6),
      step("decode", 1, 8e6, 8e6, 2e6), step("prefill", 0, 9e6, 1e6),
      step("decode", 0, 2e6, 2e6), step("decode", 1, 1e6, 1e6) }, 2))
    assert.equal([[
Steps in their order: how long each took, and what the GPU did.

- decode, rank 0: `▄▂` (2 steps, 2.00 ms to 4.00 ms)
- decode, rank 1: `█▁` (2 steps, 1.00 ms to 8.00 ms)
]], markdown.render { block })
    local page = html.render { block }
    assert.is_truthy(page:find('<rect class="busy" x="0" width="9" y="87.50" height="12.50"/>'
      .. '<rect class="wait" x="0" width="9" y="75.00" height="12.50"/>'
      .. '<rect class="idle" x="0" width="9" y="50.00" height="25.00"/>', 1, true))
  end)

  it("split nothing where it is not known what the GPU did", function()
    local page = html.render { multiples.steps(of { step("decode", 0, 4e6), step("decode", 0,
      2e6, 1e6) }) }
    assert.is_nil(page:find('class="busy"', 1, true))
    assert.is_truthy(page:find('<rect class="time" x="10" width="9" y="50.00" height="50.00"/>', 1,
      true))
  end)

  it("take means where there are many", function()
    local rows = {}
    for i = 1, 1000 do rows[i] = step("decode", 0, i * 1000, 1000) end
    local block = multiples.steps(of(rows))
    assert.equal(112, #block.panels[1].bars)
    assert.equal(5000, block.panels[1].bars[1].whole)
    assert.matches("each bar 9 steps", multiples.extent(block, block.panels[1]))
  end)

  it("show layers, and nothing of one", function()
    local function layers(...)
      local rows = {}
      for i, ns in ipairs { ... } do rows[i] = { mean_ns = ns } end
      return multiples.layers { layers = { rows = rows } }
    end
    assert.equal("▅█", multiples.line(layers(5, 10), layers(5, 10).panels[1]):gsub("▄", "▅"))
    assert.is_nil(layers(5))
    assert.is_nil(multiples.steps(of { step("decode", 0, 5) }))
    assert.is_nil(multiples.steps {})
  end)
end)
