-- Looks at an engine's page beside steps that are known.
local requests = require "llmprof.ranks.requests"
local frame = require "llmprof.frame"

local MS = 1000000
local EPOCH = 1795339005808544971

-- Steps: { rank, begin ms, batch, length ms }.
local function steps_of(list)
  local columns = {}
  for i, name in ipairs { "world", "begin", "batch", "length" } do
    columns[i] = { name = name, type = "integer", values = {} }
  end
  for row, step in ipairs(list) do
    local values = { step[1], step[2] and step[2] * MS or false, step[3], step[4] * MS }
    for i, value in ipairs(values) do columns[i].values[row] = value end
  end
  return assert(frame.new(#list, columns))
end

-- The second rank counts once, not twice; one step ran nothing.
local STEPS = { { 0, 1010, 8, 4 }, { 0, 1020, 4, 2 }, { 1, 1010, 8, 4 }, { 0, 2000, false, 6 },
  { 0, false, 9, 9 }, { 0, 5000, 1, 1 } }

local function look(ms, more)
  local made = { utc_ns = EPOCH + ms * MS }
  for key, value in pairs(more or {}) do made[key] = value end
  return made
end

local function of(samples, epoch)
  return requests.engine_looks({ engine_metrics = { samples = samples } }, steps_of(STEPS), epoch)
end


describe("looks at an engine's page", function()
  it("stand beside the steps that began since the look before", function()
    assert.same({
      { at_ns = 1000 * MS, running = 3 },
      { at_ns = 2000 * MS, running = 5, waiting = 2, kv_use = 0.25, preemptions = 3, steps = 3,
        batch = 6, step_ns = 4 * MS },
      { at_ns = 3000 * MS, preemptions = 0, steps = 0 },
    }, of({ look(1000, { running = 3, preemptions = 4 }),
      look(2000, { running = 5, waiting = 2, kv_use = 0.25, preemptions = 7 }),
      look(3000, { preemptions = 7 }) }, EPOCH))
  end)

  it("have no figure where the engine began again, or says none", function()
    local list = of({ look(1000, { preemptions = 9 }), look(2000, { preemptions = 1 }),
      look(3000) }, EPOCH)
    assert.is_nil(list[2].preemptions)
    assert.is_nil(list[3].preemptions)
    assert.is_nil(list[3].running)
  end)

  it("are left out without steps between them, a clock, or a second look", function()
    local two = { look(1000), look(2000) }
    assert.is_nil(of(two))
    assert.is_nil(of({ look(1000) }, EPOCH))
    assert.is_nil(of({ look(6000), look(7000) }, EPOCH))
    assert.is_nil(requests.engine_looks({ engine_metrics = { samples = two } }, nil, EPOCH))
    assert.is_nil(requests.engine_looks(nil, steps_of(STEPS), EPOCH))
    assert.truthy(of(two, EPOCH))
  end)
end)
