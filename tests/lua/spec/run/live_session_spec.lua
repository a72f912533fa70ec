-- A run that opens and closes a session of nsys which somebody else began. nsys and the
-- workload are stand-ins.
local live = require "tests.lua.support.live"
local nsys = require "llmprof.nvidia.nsys"


local function run(settings, env)
  local words = { "server.session=eng", "standin.program=tests/workloads/standin_windowed.py" }
  local given = { STANDIN_SESSION = "Launched eng" }
  for name, value in pairs(env or {}) do given[name] = value end
  return live.run(table.move(settings or {}, 1, #(settings or {}), #words + 1, words), given)
end


describe("a session of nsys", function()
  after_each(live.clean)

  it("is told to collect in the window, and its report is taken", function()
    local made = run()
    assert.equal(0, made.code, made.output)
    assert.same({ "nsys", "start", "--session=eng", "--sample=none", "--cpuctxsw=none",
      "--force-overwrite=true", "--output=" .. made:path "nsys/run" }, made:call("nsys", "start"))
    assert.same({ "nsys", "stop", "--session=eng" }, made:call("nsys", "stop"))
    assert.equal("done", made:step "analyse".status)
    assert.matches(
      " start .* && tests/workloads/standin_windowed.py .* && %S+/nsys stop %-%-session=eng",
      made:json "results.json".source.timeline.command)
    assert.equal("plain", made:calls "workload"[1][2]:match "under=(.*)")
  end)

  it("has neither counters nor operators, and says why", function()
    local made = run()
    for _, step in ipairs { "counters", "operators" } do
      assert.matches("server.session: the engine is not ours to run again",
        made:step(step).note, nil, true)
    end
    assert.equal(1, #made:calls "workload")
  end)

  it("may not be there", function()
    local made = run({}, { STANDIN_SESSION = "Launched other" })
    assert.equal(1, made.code)
    assert.matches("llmprof: nsys has no session eng, but other\n", made.output, nil, true)
    assert.matches("nsys launch --session-new=eng --trace=cuda,nvtx,osrt --cuda-graph-trace=node "
      .. "ENGINE...", made.output, nil, true)
    assert.same({}, made:calls "workload")
  end)

  it("may be busy", function()
    local made = run({}, { STANDIN_SESSION = "Collection eng" })
    assert.equal(1, made.code)
    assert.matches("the nsys session eng is busy already (Collection)", made.output, nil, true)
    assert.same({}, made:calls "workload")
  end)

  it("may have become busy since", function()
    local made = run({}, { STANDIN_NSYS = "refused" })
    assert.equal(1, made.code)
    assert.matches("llmprof: the nsys session is collecting already", made.output, nil, true)
  end)

  it("leaves its report when the engine dies", function()
    local made = run({}, { STANDIN_NSYS = "died" })
    assert.equal(1, made.code)
    assert.equal("done", made:step "analyse".status)
    assert.matches("the session ended within the window", made:read "manifest.json", nil, true)
    assert.matches("llmprof: the nsys session was gone when the window closed", made.output, nil,
      true)
    assert.is_true(made:has "workload/metrics.json")
  end)

  it("is waited for while it writes that", function()
    local made = run({}, { STANDIN_NSYS = "dying" })
    assert.equal(1, made.code)
    assert.equal("done", made:step "analyse".status)
    assert.matches("the session ended within the window", made:read "manifest.json", nil, true)
  end)

  it("may leave none, and the load's numbers stay", function()
    local made = run({}, { STANDIN_NSYS = "lost" })
    assert.equal(1, made.code)
    assert.matches("llmprof: the nsys session was gone when the window closed", made.output, nil,
      true)
    assert.is_true(made:has "workload/metrics.json")
    made = run({}, { STANDIN_NSYS = "none" })
    assert.matches("llmprof: no report of the session\n", made.output, nil, true)
    made = run({}, { STANDIN_NSYS = "qdstrm" })
    assert.matches("could not import what it captured", made.output, nil, true)
  end)

  it("may write elsewhere", function()
    local made = run({}, { STANDIN_NSYS = "tmp" })
    assert.equal(0, made.code, made.output)
    assert.is_true(made:has "nsys/run.nsys-rep")
  end)

  it("is shown by a dry run", function()
    local made = run { "--dry-run" }
    assert.equal(0, made.code, made.output)
    assert.matches("nsys start --session=eng", made.output, nil, true)
    assert.matches("nsys stop --session=eng", made.output, nil, true)
  end)
end)


describe("nsys sessions list", function()
  it("is read, names with blanks too", function()
    assert.same({ { id = "1010013", state = "Collection", name = "live 1" },
      { id = "7", state = "Launched", name = "b" } }, nsys.read_sessions(
      "              ID         TIME                       STATE LAUNCH NAME\n"
      .. "         1010013        00:03                  Collection      1 live 1\n"
      .. "               7     01:00:03                    Launched      1 b\n"))
    assert.same({}, nsys.read_sessions "There are no active sessions.")
  end)
end)
