-- NCCL's own word for communicator and size, tests/fixtures/nccl2.
local rank_files = require "llmprof.run.rank_files"
local support = require "tests.lua.support.ranks"

describe("payloads of NCCL", function()
  local record, frames

  setup(function()
    local files = rank_files.list({ "tests/fixtures/nccl2" }, rank_files.traces)
    record, frames = support.examine((support.parts(files)))
  end)

  local function kernel(op, type)
    for _, one in ipairs(record.collectives) do
      if one.op == op and one.name:find(type) then return one end
    end
  end

  it("tell sizes", function()
    assert.equal(64 * 2048 * 2, kernel("all-reduce", "bf16").bytes)
    assert.equal(2048 * 4, kernel("all-reduce", "f32").bytes)
    assert.equal(64 * 2048 * 2, kernel("all-gather", "RING").bytes)
  end)

  it("give bandwidths: of two ranks the link carries what is reduced once", function()
    local reduce, gather = kernel("all-reduce", "bf16"), kernel("all-gather", "RING")
    assert.equal(reduce.algbw, reduce.busbw)
    assert.equal(gather.algbw / 2, gather.busbw)
    assert.truthy(reduce.busbw > 1e9 and reduce.busbw < 450e9) -- NVLink of an H200
    assert.equal("NVLink", reduce.link)
    assert.equal(reduce.busbw / 450e9, reduce.link_share)
  end)

  it("are compared with no link that is not known", function()
    local parts = support.parts(rank_files.list({ "tests/fixtures/nccl2" }, rank_files.traces))
    for _, part in ipairs(parts) do part.about.ranks[1].gpu = "NVIDIA GeForce RTX 3090" end
    local reduce = support.examine(parts).collectives[1]
    assert.truthy(reduce.busbw)
    assert.is_nil(reduce.link_share)
  end)

  it("keep communicators apart that run kernels of one name", function()
    local keys = {}
    for _, group in ipairs(frames.collectives:group { by = { "communicator", "short_name" },
      distinct = { "world" } }) do
      assert.truthy(group.communicator)
      assert.equal(2, group.distinct.world)
      keys[#keys + 1] = group.count
    end
    table.sort(keys)
    assert.same({ 2, 64, 64, 528 }, keys)
    assert.equal(329, record.totals.matched)
    assert.equal(0, record.totals.unmatched)
  end)

  it("tell which communicators have more ranks than are there", function()
    local parts = support.parts(rank_files.list({ "tests/fixtures/nccl2" }, rank_files.traces))
    local own = parts[1].about.communicators
    assert.same({ { 0 }, { 0 }, { 0 }, { 0 } }, { own[1].ranks, own[2].ranks, own[3].ranks,
      own[4].ranks })
    own[1].size, own[2].size = 2, 4
    assert.same({ ("part of communicator %s (2 of its 4 ranks are there): no file of it is there: "
      .. "waiting for it counts as transfer"):format(own[2].id) }, support.examine(parts).left_out)
  end)
end)
