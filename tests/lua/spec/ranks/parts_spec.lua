-- What is kept of a file of ranks, when somebody else wrote it.
local json = require "llmprof.json"
local part = require "llmprof.ranks.part"
local support = require "tests.lua.support.ranks"


describe("a part", function()
  local sound = part.encode(support.parts({ support.FOUR .. "/rank0.sqlite" })[1])

  -- What is said of it with another head.
  local function said(change)
    local magic, line, frames = sound:match "^([^\n]*\n)([^\n]*)\n(.*)$"
    local head = json.decode(line)
    change(head)
    local made, message = part.decode(magic .. json.encode(head) .. "\n" .. frames)
    assert.is_nil(made)
    return message
  end

  it("is read as it was written", function()
    assert.equal(sound, part.encode(assert(part.decode(sound))))
  end)

  it("is not read by another llmprof, which says so", function()
    local frames = sound:match "\n(.*)$"
    for first, why in pairs { ["llmprof part 2"] = "a part of another llmprof: make it again",
      ["llmprof part 10"] = "a part of another llmprof: make it again",
      ["llmprof parts"] = "not a part that llmprof wrote" } do
      local made, message = part.decode(first .. "\n" .. frames)
      assert.is_nil(made)
      assert.equal(why, message)
    end
  end)

  it("has a head that fits its schema", function()
    assert.equal("its head: $.about: object expected, got 5",
      said(function(head) head.about = 5 end))
    assert.equal("its head: $.about.file: string expected, got 1",
      said(function(head) head.about.file = 1 end))
    assert.equal("its head: $.about.epoch: at least 0 expected, got -1",
      said(function(head) head.about.epoch = -1 end))
    assert.equal("its head: $.sizes: at least 4 items expected, got 0",
      said(function(head) head.sizes = json.list {} end))
    assert.equal("it is cut", said(function(head) head.sizes[1] = math.maxinteger // 2 end))
  end)

  it("has the columns and ranks that it tells of", function()
    assert.equal("steps: no rank 0", said(function(head) head.about.ranks[1].rank = 3 end))
    assert.equal("collectives: no column 'step' of type integer", said(function(head)
      local sizes = head.sizes
      sizes[1], sizes[2], sizes[3] = 0, sizes[1], sizes[2]
    end))
  end)

  it("has possible numbers", function()
    local made = assert(part.decode(sound))
    local function with(column, of)
      local list = {}
      for i, entry in ipairs(made[of]:columns()) do
        local values = {}
        for row = 1, 2 do values[row] = made[of]:get(row, entry.name) end
        if entry.name == column then values[2] = -1 end
        list[i] = { name = entry.name, type = entry.type, values = values }
      end
      local changed = { about = made.about, steps = made.steps, collectives = made.collectives,
        kernels = made.kernels, busy = made.busy }
      changed[of] = assert(require("llmprof.frame").new(2, list))
      return select(2, part.decode(part.encode(changed)))
    end
    assert.equal("kernels: impossible numbers in 'count'", with("count", "kernels"))
    assert.equal("collectives: impossible numbers in 'duration'", with("duration", "collectives"))
  end)
end)
