-- What is known of two captures of several GPUs: tests/fixtures/ranks4, where rank 2 was
-- made slow on purpose, and the one that ships with recipes/vllm_serve.lua.
local json = require "llmprof.json"
local ranks = require "llmprof.ranks"
local support = require "tests.lua.support.ranks"

local function ms(ns) return ("%.2f"):format(ns / 1e6) end

local function column(record, field)
  local list = {}
  for i, rank in ipairs(record.ranks) do list[i] = ms(rank[field]) end
  return table.concat(list, " ")
end

describe("llmprof.ranks", function()
  local four, vllm, frames

  setup(function()
    four = support.examine((support.parts(support.four())))
    local metrics = assert(json.load "tests/fixtures/recorded/vllm_serve/metrics.json")
    vllm, frames = support.examine((support.parts { support.VLLM }), metrics)
  end)

  it("matches the collectives of a vLLM server on two GPUs", function()
    print(("vllm: %d matched, waiting %s ms, transfer %s ms"):format(vllm.totals.matched,
      column(vllm, "waiting_ns"), ms(vllm.totals.transfer_ns)))
    assert.equal(3468, vllm.totals.matched)
    assert.equal(0, vllm.totals.unmatched)
    assert.equal("314.27 6.21", column(vllm, "waiting_ns"))
    assert.equal("21.68", ms(vllm.totals.transfer_ns))
    assert.equal("335.33 27.69", column(vllm, "collective_ns"))
  end)

  it("says who was late there, and where", function()
    local made = vllm.verdict
    assert.same({ "waiting", 1, "decode", true }, { made.kind, made.rank, made.phase, made.first })
    assert.truthy(made.instead:find "the CPU launched later")
  end)

  it("reads the steps of its labels", function()
    assert.same({ "labels", "vllm" }, { vllm.source, vllm.engine })
    local counts = {}
    for _, group in ipairs(vllm.stages) do counts[group.phase] = group.count end
    assert.same({ prefill = 3, mixed = 5, decode = 94, empty = 6 }, counts)
    assert.same({ { batch = 6, as = 8 }, { batch = 7, as = 8 } }, vllm.padded)
    assert.equal(216, #vllm.step_rows)
    assert.equal(216, #frames.steps)
  end)

  it("says which threads ran while the GPU waited for decode", function()
    local seen = {}
    for _, thread in ipairs(vllm.idle_threads) do
      if thread.phase == "decode" then seen[#seen + 1] = thread end
    end
    assert.same({ 0, 1 }, { seen[1].rank, seen[#seen].rank })
    for _, group in ipairs(vllm.stages) do
      for _, own in ipairs(group.phase == "decode" and group.ranks or {}) do
        local thread = own.rank == 0 and seen[1] or seen[#seen]
        assert.truthy(math.abs(thread.idle_ns - own.idle_ns * own.count) < 0.03 * thread.idle_ns)
        assert.truthy(thread.ranges_ns + thread.waiting_ns <= thread.idle_ns)
      end
    end
    assert.truthy(seen[1].range:find "^execute_context_0%(0%)_generation_8")
  end)

  it("meets what its clients saw within 5 %", function()
    assert.equal(24, vllm.requests.count)
    assert.is_true(vllm.requests.agrees)
    assert.truthy(math.abs(vllm.requests.difference) < 0.05)
  end)

  it("finds the slow one of four ranks", function()
    local made = four.verdict
    print(("ranks4: rank %d, %s, layer %d, from step %d, waiting %s ms, transfer %s ms"):format(
      made.rank, made.phase, made.layer, made.from_step, column(four, "waiting_ns"),
      ms(four.totals.transfer_ns)))
    assert.same({ "waiting", 2, "decode", 3, 8 },
      { made.kind, made.rank, made.phase, made.layer, made.from_step })
    assert.equal("295.13 354.40 92.01 199.64", column(four, "waiting_ns"))
    assert.equal("13.97", ms(four.totals.transfer_ns))
    assert.truthy(made.instead:find "it ran 20 more kernels")
  end)

  it("shares the time of a rank's collectives out", function()
    for _, record in ipairs { four, vllm } do
      for _, rank in ipairs(record.ranks) do
        assert.equal(rank.collective_ns, rank.hidden_ns + rank.exposed_ns)
        assert.truthy(rank.waiting_ns <= rank.collective_ns)
      end
    end
  end)

  it("shares the waiting out to those who came last", function()
    for _, record in ipairs { four, vllm } do
      local caused, last = 0, 0
      for _, rank in ipairs(record.ranks) do
        caused, last = caused + rank.caused_ns, last + rank.last
      end
      assert.equal(record.totals.waiting_ns, caused)
      assert.equal(record.totals.matched, last)
    end
  end)

  it("lists kernels once", function()
    local seen = {}
    for _, kernel in ipairs(four.kernels) do
      assert.is_nil(seen[kernel.name])
      seen[kernel.name] = true
    end
    assert.equal(4800, four.kernels[1].calls)
  end)

  it("lists those that take most where there are many more", function()
    local listed = ranks.KERNELS
    finally(function() ranks.KERNELS = listed end)
    ranks.KERNELS = 1
    local few = support.examine((support.parts(support.four())))
    assert.same({ four.kernels[1] }, few.kernels)
  end)
end)
