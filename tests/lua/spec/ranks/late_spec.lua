-- What a late rank's being as fast as the next slowest gives back, of programs whose CPU times are
-- known.
local lockstep = require "tests.lua.support.lockstep"
local rank_part = require "llmprof.ranks.part"
local rank_view = require "llmprof.analysis.serving.ranks"
local ranks = require "tests.lua.support.ranks"
local stages = require "llmprof.analysis.stages.find"
local timeline = require "tests.lua.support.timeline"

local DECLARED = { { name = "prefill" }, { name = "decode", step = "decode_step" } }

-- What is known of the ranks of a program, and the stages of its timeline. given: of lockstep.
local function known(given)
  local trace = timeline.of(lockstep.lines(given))
  local found = stages.find(trace, DECLARED, "auto")
  local knowledge = rank_view.knowledge(DECLARED, nil, found)
  knowledge.uncounted = rank_view.uncounted(trace, found)
  return rank_view.record({ rank_part.of(trace, "run.sqlite", knowledge) }, knowledge), found
end


-- The entry of a phase.
local function late_in(record, phase)
  for _, made in ipairs(record.late) do
    if made.phase == phase then return made end
  end
end


local function us(ns) return ns and ("%.1f"):format(ns / 1e3) end


describe("a late rank", function()
  -- Rank 1 takes 2 ms of CPU for a step, the others 1 and 1.5.
  local function cpu_of(rank) return ({ 1000000, 2000000, 1500000 })[rank + 1] end

  it("gives back what it needs more than the next slowest", function()
    local record = known { ranks = 3, repeats = 3, steps = 8, decode = true, cpu = cpu_of }
    local made = late_in(record, "decode")
    assert.same({ 1, 24, 2, "500.0" }, { made.rank, made.steps, made.next_rank,
      us(made.gain_ns) })
    assert.same({ "1001.0", "2001.0", "1501.0" }, { us(made.ranks[1].cpu_ns),
      us(made.ranks[2].cpu_ns), us(made.ranks[3].cpu_ns) })
  end)

  it("gives back nothing where its steps of an engine begin later and nobody is slower", function()
    local record = known { ranks = 2, repeats = 3, steps = 8,
      lag = function(rank) return rank * 2500000 end, cpu = function() return 1000000 end,
      names = { prefill = "execute_context_1(512)_generation_0(0)",
        decode = "execute_context_0(0)_generation_8(8)" } }
    local made = late_in(record, "decode")
    assert.same({ 1, 0, "2500.0", "2500.0" }, { made.rank, made.gain_ns, us(made.late_ns),
      us(made.ranks[2].start_ns) })
  end)

  it("is held against repeats that count alone", function()
    local record, found = known { ranks = 2, repeats = 4, steps = 8, decode = true,
      cpu = function(rank, number, phase)
        if rank == 0 or phase == "prefill" then return 1000000 end
        return number == 1 and 30000000 or 3000000
      end }
    assert.equal("decode", found.repeats.left_out[1].stage)
    assert.equal(216, found.repeats.first_excess_ns // 1000000) -- 8 steps, 27 ms each, of one rank
    local made = late_in(record, "decode")
    assert.same({ 1, 24, "2000.0", "2000.0" }, { made.rank, made.steps, us(made.late_ns),
      us(made.gain_ns) })
    assert.truthy(record.verdict.text:find("cold starts of decode are left out", 1, true))
  end)

  it("is none that came late to one step alone", function()
    local record = known { ranks = 3, repeats = 3, steps = 8, decode = true,
      cpu = function(rank, number, phase)
        return phase == "prefill" and number == 2 and rank == 0 and 60000000 or 1000000
      end }
    assert.is_nil(late_in(record, "prefill"))
  end)

  it("is one of two only where it has most of the waiting", function()
    local turns = 0
    local record = known { ranks = 2, repeats = 3, steps = 9, decode = true,
      cpu = function(rank)
        if rank == 0 then turns = turns + 1 end
        return (turns % 3 == 0) == (rank == 0) and 2000000 or 1000000
      end }
    assert.is_nil(late_in(record, "decode"))
    assert.equal("waiting", record.verdict.kind)
    assert.is_nil(record.verdict.rank)
  end)
end)


describe("the CPU time of a step", function()
  -- A step of 1 ms, in which a copy to the host is called at 200 us, is done at 600 us and
  -- begins when it is said to; the call lasts until it is done.
  local function cpu_of(begin)
    local trace = timeline.of(([[
knows calls
device 0 NVIDIA H200
process 1 python
thread 1 pid=1 main
range 0 1000000 pid=1 thread=1 decode_step
call 1000 2000 pid=1 thread=1 id=1 cudaLaunchKernel
kernel 5000 9000 pid=1 device=0 call=1 gemm(float *)
call 200000 610000 pid=1 thread=1 id=2 cudaMemcpyAsync
copy %d 600000 pid=1 device=0 call=2 bytes=8 direction=d2h memory=pageable
]]):format(begin))
    local record = ranks.examine { rank_part.of(trace, "run.sqlite", rank_view.knowledge()) }
    return us(record.stages[1].cpu_ns)
  end

  it("is without a copy that waits for the GPU", function()
    assert.equal("600.0", cpu_of(590000))
    assert.equal("1000.0", cpu_of(210000))
  end)
end)


describe("files of ranks without one of them", function()
  local function without(number)
    local parts = {}
    for _, part in ipairs((ranks.parts(ranks.four()))) do
      if not part.about.file:find(("rank%d"):format(number), 1, true) then
        part.about.file = ("%s.sqlite"):format(("abcd"):sub(#parts + 1, #parts + 1))
        parts[#parts + 1] = part
      end
    end
    return (ranks.examine(parts))
  end

  it("have transfers that are none where the others wait for it", function()
    local record = without(2)
    assert.equal("unknown", record.verdict.kind)
    assert.truthy(record.doubt:find("^87.29 ms of 190.55 ms of transfer are beyond what"))
    assert.same({ record.doubt }, record.left_out)
  end)

  it("tell no gain, as the next slowest may be missing", function()
    local record = without(3)
    assert.same({ "waiting", 2 }, { record.verdict.kind, record.verdict.rank })
    assert.truthy(record.verdict.text:find(record.doubt, 1, true))
    assert.is_nil(late_in(record, "decode").gain_ns)
  end)

  it("have transfers as long as always where nobody waits for it", function()
    assert.is_nil(without(1).doubt)
  end)
end)
