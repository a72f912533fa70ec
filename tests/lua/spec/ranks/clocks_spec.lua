-- Clocks of several files that do not agree.
local rows = require "llmprof.ranks.rows"
local support = require "tests.lua.support.ranks"

local MS = 1000000

describe("clocks of ranks", function()
  local parts
  before_each(function() parts = support.parts(support.four()) end)

  local function waiting(record)
    local list = {}
    for i, rank in ipairs(record.ranks) do list[i] = rank.waiting_ns end
    return list
  end

  it("are left as they are where collectives end together", function()
    local record = support.examine(parts)
    for i, file in ipairs(record.files) do
      assert.equal("UTC", file.clock)
      if i > 1 then assert.truthy(file.residual_ns < 1000) end
    end
  end)

  it("are as they are where few collectives end together, and no three of them", function()
    local function few(count)
      local some = support.parts(support.four())
      for _, part in ipairs(some) do
        local first, last = part.collectives:get(601, "start"),
          part.collectives:get(600 + count, "start")
        part.collectives = assert(part.collectives:where { { "start", ">=", first },
          { "start", "<=", last } })
      end
      return support.examine(some)
    end
    local record = few(5)
    assert.same({ 5, 5, 5, 5 }, { record.ranks[1].matched, record.ranks[2].matched,
      record.ranks[3].matched, record.ranks[4].matched })
    assert.equal(5, record.files[2].pairs)
    assert.equal("unknown", few(3).verdict.kind)
  end)

  it("are put right after 5 ms and 20 ppm to under 5 us", function()
    local truth = waiting(support.examine((support.parts(support.four()))))
    parts[3] = support.shifted(parts[3], 5 * MS, 20e-6)
    local record = support.examine(parts)
    local file = record.files[3]
    assert.equal("collectives", file.clock)
    assert.truthy(file.residual_ns < 5000)
    assert.truthy(math.abs(file.drift - 20e-6) < 2e-7)
    for i, ns in ipairs(waiting(record)) do
      assert.truthy(math.abs(ns - truth[i]) < 1200 * 5000) -- 1,200 collectives
      assert.truthy(math.abs(ns - truth[i]) < 0.01 * truth[i])
    end
    assert.same({ 2, 3, 8 }, { record.verdict.rank, record.verdict.layer,
      record.verdict.from_step })
  end)

  it("are compared though a rank was seen from later on", function()
    local whole = support.examine((support.parts(support.four())))
    local late = parts[2]
    local first = late.collectives:get(113, "start")
    late.collectives = assert(late.collectives:where { { "start", ">=", first } })
    local record = support.examine(parts)
    assert.equal(1200 - 112, record.ranks[2].matched)
    assert.equal(0, record.totals.unmatched)
    assert.same({ "rank 1: 112 of 1,200 ncclDevKernel_AllReduce_Sum_bf16_RING_LL are not there: "
      .. "the others are matched without it" }, record.left_out)
    assert.same({ 2, "decode", 3, 8 }, { record.verdict.rank, record.verdict.phase,
      record.verdict.layer, record.verdict.from_step })
    assert.truthy(record.ranks[3].waiting_ns <= whole.ranks[3].waiting_ns)
  end)

  it("are on one clock where communicators name groups of ranks", function()
    for i, part in ipairs(parts) do
      local names = {}
      for _, column in ipairs(part.collectives:columns()) do
        if column.name ~= "communicator" then names[#names + 1] = column.name end
      end
      part.collectives = rows.extend(assert(part.collectives:select(names)), {}, {
        { name = "communicator", type = "integer", get = function() return i // 3 end } })
    end
    local record = support.examine(parts)
    assert.same({ record.doubt }, record.left_out) -- as each pair waits for the other one
    assert.same({ 1200, 1200, 1200, 1200 }, { record.ranks[1].matched, record.ranks[2].matched,
      record.ranks[3].matched, record.ranks[4].matched })
  end)

  it("need no UTC", function()
    for _, part in ipairs(parts) do part.about.epoch = nil end
    local record = support.examine(parts)
    assert.equal("none", record.files[1].clock)
    assert.equal("collectives", record.files[2].clock)
    assert.same({ 2, 3, 8 }, { record.verdict.rank, record.verdict.layer,
      record.verdict.from_step })
  end)

  it("that cannot be put right leave a rank unmatched, and that is said", function()
    local wrong = support.parts { support.FOUR .. "/rank1.sqlite" }
    wrong[1].about.file = "rank0.sqlite"
    wrong[1].collectives = assert(wrong[1].collectives:where { { "start", "<", 0 } })
    local right = support.parts { support.FOUR .. "/rank1.sqlite" }
    local record = support.examine { wrong[1], right[1] }
    assert.equal("unknown", record.verdict.kind)
    assert.is_nil(record.ranks[1].waiting_ns)
    assert.truthy(table.concat(record.left_out, "\n"):find("rank0.sqlite: no collectives", 1, true))
  end)
end)
