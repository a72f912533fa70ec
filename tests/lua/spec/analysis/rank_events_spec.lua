-- What the page of ranks draws.
local json = require "llmprof.json"
local pack = require "llmprof.pack"
local rank_events = require "llmprof.analysis.rank_events"
local ranks = require "tests.lua.support.ranks"
local scenes = require "llmprof.analysis.scene"

-- The head of a scene, and each frame as columns by name.
local function read(bytes)
  local head, rest = bytes:match "^([^\n]*)\n(.*)$"
  local scene, at = assert(json.decode(head)), 1
  for _, entry in ipairs(scene.frames) do
    local frame = assert(pack.decode(rest:sub(at, at + entry.bytes - 1)))
    scene[entry.name] = { count = #frame }
    for _, column in ipairs(frame:columns()) do
      scene[entry.name][column.name] = frame:values(column.name)
    end
    at = at + entry.bytes
  end
  assert.equal(#rest + 1, at)
  return scene
end


local function four()
  return select(2, ranks.examine(ranks.parts(ranks.four())))
end


describe("the events of ranks", function()
  it("are the steps and collectives of each, with waiting and transfer", function()
    local made = four()
    local scene = read(rank_events.encode(made))
    local titles = {}
    for i, lane in ipairs(scene.lanes) do titles[i] = lane.kind .. " " .. lane.title end
    assert.same({ "step rank 0, steps", "step rank 1, steps", "step rank 2, steps",
      "step rank 3, steps", "gpu rank 0, collectives", "gpu rank 1, collectives",
      "gpu rank 2, collectives", "gpu rank 3, collectives" }, titles)
    assert.equal(#made.collectives, scene.gpu.count)
    local waiting, expected = 0, 0
    for row = 1, scene.gpu.count do
      assert.is_true((scene.gpu.waiting[row] or 0) <= scene.gpu.duration[row])
      waiting = waiting + (scene.gpu.waiting[row] or 0)
      expected = expected + (made.collectives:get(row, "waiting") or 0)
    end
    assert.is_true(waiting > 0)
    assert.equal(expected, waiting)
    assert.equal("nccl all-reduce sum bf16 ring ll", scene.labels[scene.gpu.label[1] + 1])
    assert.equal(0, scene.busy.count)
  end)

  it("show a few decode steps first, by the numbers that the tables have", function()
    local scene = read(rank_events.encode(four()))
    local seen = {}
    for row = 1, scene.mark.count do
      local start = scene.mark.start[row]
      if scene.mark.lane[row] == 0 and start >= scene.view.first and start < scene.view.last then
        seen[#seen + 1] = scene.labels[scene.mark.label[row] + 1]
      end
    end
    assert.equal(4, #seen)
    for _, label in ipairs(seen) do assert.matches("^decode, step %d+$", label) end
  end)

  it("are as many as fit, the rest in shares", function()
    local most = scenes.MOST
    scenes.MOST = 40
    finally(function() scenes.MOST = most end)
    local scene = read(rank_events.encode(four()))
    assert.is_true(scene.gpu.count + scene.mark.count <= 40)
    assert.is_true(scene.gpu.count > 0)
    assert.is_true(scene.busy.count > 0)
  end)

  it("are none of ranks without steps and collectives", function()
    assert.is_nil(rank_events.encode {})
  end)
end)
