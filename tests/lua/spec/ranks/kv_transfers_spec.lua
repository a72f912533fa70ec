-- The KV cache on its way from ranks that prefill to ranks that decode.
local frame = require "llmprof.frame"
local fs = require "llmprof.fs"
local requests = require "llmprof.ranks.requests"
local sections = require "llmprof.report.sections"
local ranks = require "tests.lua.support.ranks"
local report = require "llmprof.report.ranks"
local spawn = require "llmprof.spawn"

-- Steps: { world, begin, last, requests in prefill, in decode }.
local function steps_of(list)
  local columns = {}
  for i, name in ipairs { "world", "begin", "last", "context", "generation" } do
    columns[i] = { name = name, type = "integer", values = {} }
    for row, step in ipairs(list) do columns[i].values[row] = step[i] end
  end
  return assert(frame.new(#list, columns))
end

local PREFILL = { { 0, 10, 20, 1, 0 }, { 0, 20, 50, 2, 0 } }
local DECODE = { { 1, 26, 30, 1, 0 }, { 1, 30, 34, 0, 1 }, { 1, 58, 60, 1, 1 },
  { 1, 70, 72, 1, 2 } }

local function of(...)
  local all = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #all + 1, all) end
  return requests.kv_transfers(steps_of(all))
end


describe("transfers of the KV cache", function()
  it("last from the end of a prefill to the first step elsewhere", function()
    local made = of(PREFILL, DECODE)
    assert.same({ 0, 1, 3, 3 }, { made.from_rank, made.to_rank, made.left, made.taken })
    assert.same({ { start_ns = 20, end_ns = 26, length_ns = 6 },
      { start_ns = 50, end_ns = 58, length_ns = 8 },
      { start_ns = 50, end_ns = 70, length_ns = 20 } }, { table.unpack(made.single) })
    assert.same({ 3, 34 / 3, 6, 20 }, { made.times.count, made.times.mean_ns, made.times.min_ns,
      made.times.max_ns })
    assert.is_nil(made.unknown)
  end)

  it("are of the first rank of each kind", function()
    local equals = {}
    for i, step in ipairs(DECODE) do equals[i] = { 2, table.unpack(step, 2) } end
    assert.equal(1, of(PREFILL, equals, DECODE).to_rank)
  end)

  it("are not attributed where counts or order forbid it", function()
    local made = of(PREFILL, { table.unpack(DECODE, 1, 3) })
    assert.equal("3 requests left the prefill and 2 were taken up in the capture, so transfers "
      .. "cannot be timed", made.unknown)
    assert.is_nil(made.times)
    made = of({ { 0, 10, 40, 1, 0 }, PREFILL[2] }, DECODE)
    assert.matches("in another order", made.unknown, nil, true)
    made = of(PREFILL, { { 1, 26, 30, 0, 1 } })
    assert.matches("no step of the decode", made.unknown, nil, true)
  end)

  it("are counted where they are too many to look at", function()
    local made = of({ { 0, 10, 20, 3000, 0 }, { 0, 20, 50, 2000, 0 } }, { { 1, 60, 61, 5000, 1 } })
    assert.same({ 5000, 5000 }, { made.left, made.taken })
    assert.equal("5000 requests are more than the 4096 that are looked at one by one", made.unknown)
  end)

  it("are none where one rank does both, or steps do not say", function()
    assert.is_nil(of(DECODE))
    assert.is_nil(of(PREFILL))
    assert.is_nil(of({ { 0, 10, 20, 1, 0 }, { 0, 20, 21, 0, 1 } }, { { 1, 10, 20, 1, 0 },
      { 1, 20, 21, 0, 1 } }))
    assert.is_nil(of({ { 0, 10, 20, false, false } }, { { 1, 10, 20, false, false } }))
  end)
end)

describe("a capture of prefill and decode apart", function()
  local folder = assert(fs.temp_dir "llmprof-pd-")
  teardown(function() assert(fs.remove_tree(folder)) end)

  -- An edited capture of one server on two GPUs: the times are real, who did what is not.
  it("has a transfer for each request", function()
    local path = folder .. "/run.sqlite"
    local made = assert(spawn.run({ "python3", "tests/fixtures/split_pd.py", ranks.VLLM, path },
      {}))
    assert.is_true(made.ok)
    local record = ranks.examine(ranks.parts { path })
    local sent = record.kv_transfers
    assert.same({ 0, 1, 24, 24, 24 }, { sent.from_rank, sent.to_rank, sent.left, sent.taken,
      #sent.single })
    assert.is_nil(sent.unknown)
    local shown = sections.step_rows { ranks = record }
    assert.equal("KV transfer", shown[#shown].phase)
    assert.equal(24, shown[#shown].count)
    assert.matches("Rank 0 prefills and rank 1 decodes: from the end of ",
      report.verdict { ranks = record })
  end)

  it("is none where one server does both", function()
    assert.is_nil(ranks.examine(ranks.parts { ranks.VLLM }).kv_transfers)
  end)
end)
