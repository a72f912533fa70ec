local rank_record = require "tests.lua.support.rank_record"
local support = require "tests.lua.support.advice"

local engine, said = rank_record.engine, rank_record.said

describe("advice rank_late", function()
  local verdict = { kind = "waiting", rank = 1, phase = "decode", text = "waiting for rank 1",
    instead = "its GPU was idle 5 ms longer before it: the CPU launched later" }

  -- Rank 1 comes late to decode, by what it needs more than rank 0.
  local function late(given)
    local made = { phase = "decode", rank = 1, steps = 90, share = 0.9, late_ns = 2e6,
      gain_ns = 0.5e6, next_rank = 0, ranks = {
        { rank = 0, steps = 90, cpu_ns = 1.5e6, work_ns = 1e6, waiting_ns = 2e6, start_ns = 0 },
        { rank = 1, steps = 90, cpu_ns = 2e6, work_ns = 1e6, waiting_ns = 0, start_ns = 1.8e6 } } }
    for key, value in pairs(given or {}) do made[key] = value end
    return made
  end

  local function record(made, more)
    local given = engine { verdict = verdict, late = { made },
      ranks = { { rank = 0 }, { rank = 1 } } }
    for key, value in pairs(more or {}) do given[key] = value end
    return given
  end

  it("holds the rank against the next slowest", function()
    assert.equal([[
rank 0 waits for rank 1 in decode (decode, confidence high)
- ranks wait 1.00 ms of a step in its collectives on average, 90 % of that for rank 1, which comes 2.00 ms after the next to last (timeline)
- rank 1 arrived late: its GPU was idle 5 ms longer before it: the CPU launched later (timeline)
- CPU time of a step, without waiting for the GPU: rank 0 1.50 ms, rank 1 2.00 ms (timeline)
try: look at what the CPU of rank 1's process does there that others do not: launches of its own, an uneven division of layers, experts, heads or requests; its cores and their NUMA node (numactl, taskset), and other processes on them
change: waits(1)
if no rank waits for it
]], said("rank_late", record(late())))
  end)

  it("gives back nothing where nobody is slower", function()
    local text = said("rank_late", record(late { gain_ns = 0 }))
    assert.truthy(text:find("its CPU and its GPU take no longer for a step than those of rank "
      .. "0, but it begins 1.80 ms after the first rank: steps get longer, not the time from one "
      .. "to the next; the process that gives it its steps is not in the trace", 1, true))
    assert.truthy(text:find("how the engine hands its workers their steps", 1, true))
    assert.is_nil(text:find "change:")
  end)

  it("tells no gain where it is not known, and of a late GPU what it works", function()
    assert.is_nil(said("rank_late", record(late { gain_ns = false })):find "change:")
    local made = late()
    made.ranks[2].work_ns = 3e6
    assert.truthy(said("rank_late", record(made)):find "a GPU that is slower or shared")
  end)

  it("knows work of experts that could be divided", function()
    local made = late()
    made.ranks[2].work_ns = 3e6
    local function assumed(ns)
      return said("rank_late", record(made, { ranks = { { rank = 0, expert_ns = 1e6 },
        { rank = 1, expert_ns = ns } } })):match "\nif ([^\n]+)"
    end
    assert.equal("no rank waits for it, as all have as much to do for their experts",
      assumed(181e6))
    assert.equal("no rank waits for it", assumed(180e6))
  end)

  it("finds each phase in which a rank is late", function()
    local text = said("rank_late", record(late(), { late = { late { phase = "mixed" }, late() } }),
      { stages = { support.decode { steps = 1 }, support.decode { name = "mixed" } } })
    assert.truthy(text:find("rank 0 waits for rank 1 in mixed (mixed", 1, true))
    assert.truthy(text:find("rank 0 waits for rank 1 in decode (decode", 1, true))
  end)

  it("names who is late where no step is known", function()
    local text = said("rank_late", engine { verdict = { kind = "waiting", rank = 1, text = "w" },
      ranks = { { rank = 0 }, { rank = 1 }, { rank = 2 } } })
    assert.truthy(text:find "^the other ranks wait for rank 1 %(no stage, confidence high%)")
  end)

  it("is silent about balanced ranks, about one, and where it cannot be told", function()
    assert.equal("", said("rank_late", engine { verdict = { kind = "balanced", text = "b" } }))
    assert.equal("", said("rank_late", record(late(), { verdict = { kind = "unknown",
      text = "u" } })))
    assert.equal("", said("rank_late", engine()))
    assert.equal("abstains: no steps and no second rank were found\n",
      said("rank_late", nil) .. "\n")
  end)

  it("sees by MPI's calls for whom others wait, where its kernels take longer", function()
    local function of(kernels, mpi)
      return said("rank_late", engine { verdict = { kind = "unknown", text = "no collectives" },
        ranks = { { rank = 0, gpu_time_ns = 50e6, mpi_ns = 130e6 },
          { rank = 1, gpu_time_ns = kernels, mpi_ns = mpi } } })
    end
    assert.matches("^rank 0 waits for rank 1 %(no stage, confidence high%)", of(150e6, 34e6))
    assert.equal("", of(50e6, 34e6))
    assert.equal("", of(150e6, 128e6))
  end)
end)
