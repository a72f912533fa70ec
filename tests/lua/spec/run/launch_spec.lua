-- Workloads of several ranks, with stand-ins for nsys and the workload.
local fs = require "llmprof.fs"
local live = require "tests.lua.support.live"

local FOUR = {}
for rank = 0, 3 do FOUR[rank + 1] = ("%s/tests/fixtures/ranks4/rank%d.sqlite"):format(
  assert(fs.realpath "."), rank) end


describe("launch.ranks", function()
  after_each(live.clean)

  -- A run of four ranks, each with the capture of one of four real ones.
  local function run(settings, env)
    local words = { "launch.ranks=4", "operators=off", "launch.grace_s=1",
      table.unpack(settings or {}) }
    env = env or {}
    env.STANDIN_SQLITE = table.concat(FOUR, ":")
    return live.run(words, env)
  end

  it("captures each rank, and puts them into one bundle", function()
    local made = run()
    assert.equal(0, made.code, made.output)
    local record = made:json("results.json").ranks
    assert.equal(4, #record.ranks)
    assert.equal("waiting", record.verdict.kind)
    assert.equal(2, record.verdict.rank)
    for rank = 0, 3 do
      assert.is_true(made:has(("nsys/rank%d.sqlite"):format(rank)))
      assert.matches("workload: done", made:read(("workload/rank%d.log"):format(rank)))
    end
    assert.equal("launch.ranks: a collective cannot be replayed on one rank alone",
      made:step("counters").note:match "launch.*")
  end)

  it("says that ranks take turns at GPUs that are fewer", function()
    local said = "4 ranks take turns at 2 GPUs: each sees one alone, as LOCAL_RANK 0"
    assert.equal(said, run({}, { CUDA_VISIBLE_DEVICES = "0,1" }):step("timeline").notes[1])
    assert.is_nil(run({}, { CUDA_VISIBLE_DEVICES = "0,1,2,3" }):step("timeline").notes)
  end)

  it("keeps what the page draws of all ranks, for an analysis without their files", function()
    local made = run()
    local drawn = made:read "events.gz"
    for rank = 0, 3 do
      assert.is_true(made:has(("ranks/rank%d.sqlite.part"):format(rank)))
      assert(fs.remove(made:path(("nsys/rank%d.sqlite"):format(rank))))
    end
    assert(fs.remove(made:path "events.gz"))
    assert(fs.remove(made:path "results.json"))
    local again = live.llmprof { "tests/standin/recipe.lua", "out=" .. made.out, "launch.ranks=4",
      "operators=off", "launch.grace_s=1", "--resume", made.out }
    assert.equal(0, again.code, again.output)
    assert.matches("ranks +kept from before", again.output)
    assert.equal(drawn, made:read "events.gz")
  end)

  it("takes the numbers of rank 0, and keeps those of the others", function()
    local made = run()
    assert.equal("stand-in", made:json("workload/metrics.json").workload)
    assert.equal("stand-in", made:json("workload/rank3/metrics.json").workload)
  end)

  it("keeps what the others captured when one dies, and shows its last lines", function()
    local made = run({}, { STANDIN_WORKLOAD = "crash", STANDIN_NSYS = "none", STANDIN_RANK = "1" })
    assert.equal(1, made.code)
    local step = made:step "timeline"
    assert.equal("done", step.status)
    assert.equal("no capture of rank 1", step.notes[1])
    assert.matches("1 of 4 ranks failed: rank 1 ended with exit status 139", made.output, 1, true)
    assert.matches("rank 1: workload: started", made.output, 1, true)
    local record = made:json("results.json").ranks
    assert.equal(3, #record.ranks)
    assert.matches("rank 1: no file of it is there", table.concat(record.left_out, "\n"), 1, true)
  end)

  it("fails when no rank left a capture", function()
    local made = run({}, { STANDIN_NSYS = "none" })
    assert.equal(1, made.code)
    assert.equal("nsys made no report", made:step("timeline").message)
  end)

  it("says that a launcher is not there", function()
    local made = run({ "launch.with=torchrun" })
    assert.equal(1, made.code)
    assert.matches("launch.with=torchrun: torchrun is not there", made.output, 1, true)
  end)

  it("ends all ranks when it is interrupted", function()
    local made = live.end_with("SIGINT", { "launch.ranks=2", "operators=off", "counters=off",
      "launch.grace_s=1" }, { STANDIN_WORKLOAD = "hang" })
    assert.equal(130, made.code)
    assert.is_false(made:left_alive())
  end)
end)
