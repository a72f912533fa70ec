-- What a change gains, of programs whose times are known.
local answer = require "llmprof.whatif.answer"
local changes = require "llmprof.whatif.changes"
local errors = require "llmprof.process.errors"
local failure = require "tests.lua.support.failure"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local load = require "llmprof.whatif.load"
local lockstep = require "tests.lua.support.lockstep"
local models = require "llmprof.whatif.model"
local query = require "llmprof.query"
local source = require "llmprof.query.session.source"
local statistics = require "llmprof.statistics"
local timeline = require "tests.lua.support.timeline"
local units = require "llmprof.whatif.units"
local whatif = require "llmprof.whatif"

-- ns of CPU that each rank of lockstep takes for a step: the last one is late by 1 ms.
local CPU = { 1000000, 1500000, 2500000 }

-- A timeline as a source of a session.
local function over(lines)
  local trace = timeline.of(lines)
  return whatif.over { { trace = trace, kernels = query.wrap(assert(trace:frame "kernels")),
    ops = query.wrap(assert(trace:frame "gpu")) } }
end


local function program(ranks)
  return lockstep.lines { ranks = ranks or 3, repeats = 2, steps = 24, decode = true,
    cpu = function(rank) return CPU[rank + 1] end }
end


local function row(made, stage)
  for _, one in ipairs(made.stages) do
    if one.stage == stage then return one end
  end
end


local function near(expected, actual, ns)
  assert.is_true(math.abs(expected - actual) <= (ns or 2000),
    ("%.0f expected, %.0f came"):format(expected, actual))
end


describe("a replay", function()
  it("is what was recorded, as long as nothing changes", function()
    local model = over(program()).model
    assert.are_equal(0, model.missing)
    assert.are_equal(50, model.basis.collectives)
    for _, stage in ipairs(model.stages) do
      assert.is_nil(stage.refused)
      near(stage.recorded, stage.replayed, 0.005 * stage.recorded)
    end
    near(model.recorded_waits, model.replayed_waits, 0.005 * model.recorded_waits)
    assert.is_true(model:blind().error < 0.01)
  end)

  it("measures stages without steps in the order of time with those that have some", function()
    local said = {}
    for i, one in ipairs(over(lockstep.lines { ranks = 1, repeats = 2, steps = 3, decode = true,
      names = { prefill = "encode", decode = "decode_step" },
      cpu = function() return CPU[1] end }).model.parts[1].units) do said[i] = one.stage end
    assert.equal("encode decode decode decode encode decode decode decode",
      table.concat(said, " "))
  end)

  it("lets nobody wait for the late rank", function()
    local one = row(over(program()):change "waits(2)":run(), "decode")
    -- of three ranks two wait for the next slowest
    near((2 * 1000000) / 3, one.gain, 10000)
    assert.is_true(one.low <= one.gain and one.gain <= one.high)
  end)

  it("lets no rank wait for another", function()
    local one = row(over(program()):change "waits(none)":run(), "decode")
    -- the late one by 1 and 1.5 ms, and each by its own transfer alone
    near((1000000 + 1500000) / 3, one.gain, 20000)
  end)

  it("gains as much for the ranks that wait in any order of the files, whatever their clocks",
    function()
    -- ahead: ns by which the clock of each file is ahead of that of the one before
    local function gain(order, code, ahead)
      local sources = {}
      for i, rank in ipairs(order) do
        local own = {}
        local function moved(at) return ("%d"):format(tonumber(at) + (i - 1) * ahead) end
        for line in program():gmatch "[^\n]+" do
          if tonumber(line:match "pid=(%d+)" or rank) == rank then
            own[#own + 1] = line:gsub("^(%l+ )(%d+) (%d+)", function(kind, from, to)
              return kind .. moved(from) .. " " .. moved(to)
            end)
          end
        end
        local trace = timeline.of(table.concat(own, "\n") .. "\n")
        sources[i] = { trace = trace, kernels = query.wrap(assert(trace:frame "kernels")),
          ops = query.wrap(assert(trace:frame "gpu")) }
      end
      return whatif.over(sources):change(code):gain("decode").gain
    end
    near(48 * 1000000, gain({ 1, 2, 3 }, "waits(2)", 0), 500000) -- 48 steps
    near(48 * 1000000, gain({ 3, 1, 2 }, "waits(0)", 0), 500000)
    near(48 * 1000000, gain({ 1, 2, 3 }, "waits(2)", 3000000000), 500000)
  end)

  it("gains what the CPU takes less, where the CPU is what limits", function()
    local one = row(over(program(1)):scale(changes.choices.cpu "decode", 0.5):run(), "decode")
    near(0.5, one.gain / one.now, 0.02)
    assert.are_equal("CPU", one.limit)
    assert.is_true(one.gpu_free <= one.after and one.cpu_free <= one.after)
  end)

  it("holds what processes of the host differ by, and what the GPU takes", function()
    local question = over(program(1)):scale(changes.choices.cpu "decode", 0.5)
    local quiet = row(question:run(), "decode")
    question.host_noise = 0.3
    local one = row(question:run(), "decode")
    near((0.3 - 0.127) * (one.after - one.cpu_free), one.after_high - quiet.after_high)
    question.host_noise = 3
    near(0.95 * one.cpu_free, row(question:run(), "decode").after_low)
  end)

  it("finds calls for memory", function()
    local lines, count = program(1):gsub("(call[^\n]*)cudaStreamSynchronize\n", "%1cudaMalloc\n")
    assert.equal(count, over(lines):change "remove(allocations)":run().changes[1].count)
  end)

  it("gains nothing by kernels that nobody waits for", function()
    local question = over(program(1))
    local kernels = question.model.parts[1].source.kernels:where { name = { "~", "gemm" } }
    local one = row(question:scale(kernels, 0.5):run(), "decode")
    near(0, one.gain)
  end)

  it("takes several changes at once", function()
    local one = row(over(program(1)):graphs("decode", { least = 1 }):run(), "decode")
    local two = row(over(program(1)):graphs("decode", { least = 1 })
      :scale(changes.choices.cpu "decode", 0.5):run(), "decode")
    assert.is_true(two.gain >= one.gain)
  end)

  it("takes from steps what they take more than half of them", function()
    local count = 0
    local lines = lockstep.lines { ranks = 1, repeats = 2, steps = 24, decode = true,
      cpu = function()
        count = count + 1
        return count % 8 == 0 and 5000000 or 1000000
      end }
    local one = row(over(lines):change 'even("decode")':run(), "decode")
    near(4000000 * 6 / 48, one.gain, 5000) -- 6 of 48 steps
  end)

  it("fits each of the repeats that are alike to the time without the profiler", function()
    local trace = timeline.of(lockstep.lines { ranks = 1, repeats = 3, steps = 24, decode = true,
      cpu = function(_, number) return number == 3 and 1800000 or 1500000 end })
    local results = { overhead = { stages = { { name = "decode", plain_ms = 30 } } },
      stages = { { name = "decode", steps = 24, wall = { mean_ns = 38.4e6, count = 3 },
        repeats = 3 } } }
    local model = whatif.over { { trace = trace, found = units.stages { trace = trace },
      results = results } }.model
    local sums = {}
    for i, one in ipairs(model.parts[1].units) do
      if one.stage == "decode" then
        sums[one.turn] = (sums[one.turn] or 0) + model.lengths[1][i]
      end
    end
    assert.is_true(#sums > 1)
    for _, one in ipairs(sums) do near(sums[#sums], one, 0.01 * one) end
  end)

  it("counts what a stage does after its last step as between steps", function()
    local lines = lockstep.lines { ranks = 1, repeats = 1, steps = 24, decode = true,
      cpu = function() return 1000000 end }
    lines = lines:gsub("range (%d+) (%d+) (pid=1 thread=1 decode\n)", function(from, to, rest)
      return ("range %s %d %s"):format(from, to + 48000000, rest)
    end)
    local question = over(lines)
    local one = row(question:change 'remove(between "decode")':run(), "decode")
    near(2000000, one.gain, 5000) -- 48 ms over 24 steps
  end)

  it("tells the last wait of a step from the inner ones", function()
    local question = over(program(1))
    assert.are_equal(row(question:change 'remove(syncs "decode")':run(), "decode").gain,
      row(question:change 'remove(syncs("decode", "last"))':run(), "decode").gain)
    assert.are_equal("without inner syncs of decode: nothing matches", failure(function()
      question:change 'remove(syncs("decode", "inner"))':run()
    end)[2])
  end)

  it("takes allocations out of steps", function()
    local lines = lockstep.lines { ranks = 1, repeats = 1, steps = 24, decode = true,
      cpu = function() return 1000000 end }
    lines = lines:gsub("(range (%d+) %d+ pid=1 thread=1 decode_step\n)", function(range, from)
      return ("%scall %d %d pid=1 thread=1 cudaMalloc\n"):format(range, from + 1e5, from + 6e5)
    end)
    local one = row(over(lines):change 'remove(allocations "decode")':run(), "decode")
    near(500000, one.gain, 5000)
  end)

  it("scales the CPU of threads that launch for a stage's, too, as autograd's", function()
    local lines = { "knows calls", "process 1 python", "thread 1 pid=1 main",
      "thread 2 pid=1 worker" }
    for step = 0, 2 do
      for i = 0, 7 do
        local at = step * 200000 + i * 20000 + 1000
        lines[#lines + 1] = ("call %d %d pid=1 thread=%d id=%d cudaLaunchKernel"):format(at,
          at + 10000, i < 4 and 1 or 2, step * 8 + i + 1)
        lines[#lines + 1] = ("kernel %d %d pid=1 device=0 call=%d k"):format(at + 10000, at + 11000,
          step * 8 + i + 1)
      end
      lines[#lines + 1] = ("call %d %d pid=1 thread=1 cudaStreamSynchronize"):format(
        step * 200000 + 165000, step * 200000 + 166000)
      lines[#lines + 1] = ("range %d %d pid=1 thread=1 train"):format(step * 200000,
        step * 200000 + 170000)
    end
    local one = row(over(table.concat(lines, "\n") .. "\n"):change 'scale(cpu "train", 0)':run(),
      "train")
    assert.is_true(one.gain > 120000, one.gain) -- of 200 us; of the main thread alone none
  end)

  it("makes one of those that follow each other", function()
    local made = over(program(1)):change "fuse(ops)":run()
    assert.are_equal(50, made.changes[1].count) -- two in each of 50 steps, with a wait between
  end)

  it("takes the changes of a finding", function()
    local question = over(program(1))
    question.model.parts[1].source.results = { advice = { findings = { { title = "t",
      changes = { 'scale(cpu "decode", 0.5)', 'even("decode")' } }, { title = "none" } } } }
    assert.are_equal(2, #question:finding(1).changes)
    assert.are_equal("finding 2, none: it names no change that can be replayed",
      failure(function() question:finding(2) end)[2])
    assert.are_equal("there is no finding 3", failure(function() question:finding(3) end)[2])
    question.model.parts[1].source.results = false
    assert.matches("^finding 1: .* is a trace, and findings are of a run$",
      failure(function() question:finding(1) end)[2])
  end)

  it("is refused where only launches were recorded", function()
    local lines = program(1):gsub("call[^\n]*cudaStreamSynchronize\n", "")
    local made = over(lines):scale(changes.choices.cpu "decode", 0.5):run()
    assert.are_equal("only calls that launch were recorded, not what the CPU waits for",
      row(made, "decode").refused)
  end)
end)


describe("a change", function()
  it("that finds nothing, or has no ground, is refused", function()
    for code, message in pairs {
      ['remove(kernels:where { name = "nothing" })'] = "without 0 operations: nothing matches",
      ['graphs("deocde")'] = "no stage is called 'deocde'",
      ["graphs()"] = "graphs: of which stage?",
      ["scale(kernels, -1)"] = "scale: by which factor?",
      ["batch(16)"] = "batch(16): one run says nothing of another batch",
      ["kernels"] = "kernels: that is no change",
      ['graphs("decode"'] = "graphs(\"decode\": ')' expected near <eof>",
    } do
      assert.are_equal(message,
        failure(function() over(program(1)):change(code):run() end)[2])
    end
  end)

  it("has in JSON what the tables have, with units", function()
    local made = over(program()):change "scale(kernels, 0.5)":run()
    local object = assert(json.decode(answer.render("json", made)))
    local known = { stages = lists.set { "stage", "rank", "units", "now_ns", "after_ns",
      "after_low_ns", "after_high_ns", "shared_low_ns", "shared_high_ns", "gain_ns", "low_ns",
      "high_ns", "share", "limit", "gpu_free_ns", "cpu_free_ns", "refused" },
      fit = lists.set { "name", "units", "recorded_ns", "replayed_ns", "error", "waits_ns",
        "unexplained_ns", "refused" } }
    for of, fields in pairs(known) do
      assert.is_true(#object[of] > 0)
      for _, one in ipairs(object[of]) do
        for field in pairs(one) do assert.is_true(fields[field], of .. "." .. field) end
      end
    end
    assert.equal(made.stages[1].gain, object.stages[1].gain_ns)
  end)
end)


describe("a replay for a finding", function()
  -- What half of the CPU's time gives back of a stage, with so many events in a replay.
  local function gain(most, stage, ranks)
    local trace, whole = timeline.of(program(ranks or 1)), models.MOST_EVENTS
    local replay = whatif.replayer(function() return { source.of(trace, {}) } end)
    local code = ('scale(cpu "%s", 0.5)'):format(stage)
    models.MOST_EVENTS = most
    local ok, made, why = errors.call(replay, { code }, stage)
    models.MOST_EVENTS = whole
    assert.is_true(ok, tostring(made))
    return made, why
  end

  local function events_of(ranks)
    local trace = timeline.of(program(ranks))
    return #trace:frame "gpu" + #trace:frame "api"
  end

  it("takes whole repeats of a long trace, which stand for all", function()
    local whole = gain(models.MOST_EVENTS, "decode")
    assert.is_nil(whole.replayed)
    for _, ranks in ipairs { 1, 3 } do
      local events = events_of(ranks)
      local made, all = gain(events - 1, "decode", ranks), gain(events, "decode", ranks)
      assert.same({ 48 * ranks, 24 * ranks }, { made.units, made.replayed })
      near(all.gain, made.gain, 0.01 * all.gain)
      near(all.high, made.high, 0.02 * all.high)
    end
  end)

  it("gives a stage that is not in the first steps a window of its own", function()
    local events = events_of(1)
    local made = gain(events // 50 * 3, "decode")
    assert.is_true(made.replayed < 24)
    assert.is_truthy(gain(events // 50 + 1, "decode").replayed)
    near(gain(events, "decode").gain, made.gain, 0.03 * made.gain)
  end)

  it("is none where one step is too long", function()
    assert.same({ n = 2, nil, "one step has more than 1 calls and operations" },
      table.pack(gain(1, "decode")))
  end)
end)


describe("what came of a change", function()
  local function sources(ns)
    local trace = timeline.of(lockstep.lines { ranks = 1, repeats = 2, steps = 24, decode = true,
      cpu = function() return ns end })
    return { { trace = trace } }
  end

  it("is held against what was predicted, the CPU and the GPU alone, too", function()
    local code = 'scale(cpu "decode", 0.5)'
    local function of_decode(ns) return whatif.outcome(sources(1000000), sources(ns), code)[2] end
    local one = of_decode(500000)
    assert.is_true(one.inside)
    near(one.came, one.predicted, 20000)
    near(one.cpu_came, one.cpu, 20000)
    near(one.gpu_came, one.gpu)
    local text = whatif.render_outcome("md", { one }, code)
    assert.truthy(text:find("\nFor the ledger: | decode | `scale(cpu \"decode\", 0.5)` | 1.01 | ",
      1, true))
    assert.is_false(of_decode(2000000).inside)
  end)

  it("is that of several changes, each of which is read", function()
    local function outcome(code)
      return whatif.outcome(sources(1000000), sources(500000), code)[2]
    end
    near(0.5e6, outcome('remove(syncs "decode") + scale(cpu "decode", 0.5)').cpu, 20000)
    assert.is_false(pcall(outcome, 'scale(cpu "decode", 0.5) + gpu "none"'))
  end)

  it("is judged at the speed of the host that it ran on, too", function()
    local code = 'remove(syncs "decode")'
    local one = whatif.outcome(sources(1000000), sources(1600000), code)[2]
    assert.is_false(one.inside)
    near(1.6, one.host.factor, 0.01)
    assert.is_true(one.host.inside)
    assert.truthy(whatif.render_outcome("md", { one }, code):find("take 1.60 times the CPU time", 1,
      true))
    one.host = nil
    local text = whatif.render_outcome("md", { one }, code)
    assert.truthy(text:find("no launches of both runs tell", 1, true))
  end)
end)


describe("a finding that is gone", function()
  local function results(...)
    return { advice = { findings = { ... } } }
  end
  local graphs = { rule = "graph_missing", stage = "decode", changes = { 'graphs("decode")' },
    gain_ns = 8, gain_share = 0.8 }
  local waiting = { rule = "launch_bound", stage = "decode", changes = { 'scale(cpu "decode", 0)' },
    gain_ns = 9, gain_share = 0.9 }
  local waits = { rule = "sync_per_token", stage = "decode", changes = { 'remove(syncs "decode")' },
    gain_ns = 2, gain_share = 0.2 }
  local small = { rule = "casts", stage = "decode", changes = { "remove(kernels)" }, gain_ns = 1,
    gain_share = 0.01 }

  it("is what a run is held against, but no bound and nothing small", function()
    assert.are_equal(2, whatif.fitting(results(waiting, graphs, waits), results()))
    assert.are_equal(3, whatif.fitting(results(waiting, graphs, waits), results(graphs)))
    assert.is_nil(whatif.fitting(results(waiting, graphs, small), results(graphs)))
    assert.is_nil(whatif.fitting({}, results(graphs)))
    local other, silent = results(), results()
    other.run, silent.advice.abstained = { recipe = "other" }, { { rule = "graph_missing" } }
    assert.is_nil(whatif.fitting(results(graphs), other))
    local one, another = results(graphs), results()
    one.source = { timeline = { command = "python3 /a/serve.py --port 1" } }
    another.source = { timeline = { command = "python3 -m other --port 1" } }
    assert.is_nil(whatif.fitting(one, another))
    for _, command in ipairs { "/b/serve.py 2", "env A=1 python -u /b/serve.py",
      "nsys profile -o out /usr/bin/python3.11 serve.py" } do
      another.source.timeline.command = command
      assert.are_equal(1, whatif.fitting(one, another))
    end
    assert.is_nil(whatif.fitting(results(graphs), silent))
  end)
end)


describe("another batch", function()
  -- A run of a batch whose matmuls take that much of a step.
  local function of(batch, ns, recipe)
    local trace = timeline.of(program(1))
    return source.of(trace, { results = { run = { recipe = recipe or "r" }, repeats = "no",
      kernels = {}, latency = { tokens_per_s = { batch = batch } }, stages = { { name = "decode",
        wall = { count = 2, mean_ns = 1 }, steps = 24, kernels = 48,
        categories = { { category = "gemm", gpu_time_ns = ns * 24 } } } } } })
  end

  it("lies between two that were measured", function()
    local near_one, change = changes.between(of(1, 20000), of(5, 60000), 2)
    assert.are_equal(1, near_one.results.latency.tokens_per_s.batch)
    local made = {}
    local function scale(_, _, rows, by)
      made[#made + 1] = by
      return #rows
    end
    local rows = change.apply(nil, { number = 1, source = near_one }, { scale = scale })
    assert.are_equal(48, rows)
    near(1.5, made[1], 1e-9)
  end)

  it("is refused outside of them, of two programs, and where no batch is known", function()
    local function said(...)
      return failure(changes.between, ...)[2]
    end
    assert.are_equal("batch(5) does not lie between 1 and 5", said(of(1, 1), of(5, 2), 5))
    assert.are_equal("batch: these runs are not of one program",
      said(of(1, 1), of(5, 2, "other"), 2))
    assert.truthy(said(of(nil, 1), of(5, 2), 2):find("its batch is not known", 1, true))
  end)
end)

describe("kernels by what holds them up", function()
  -- Steps of decode that the GPU limits: a matmul of 100 us, a kernel of 50, an attention that
  -- grows by 1 us a step, and on request an all-reduce of 40; by_engine: as vLLM marks them.
  local function lines(communicates, by_engine)
    local list, now, id = { "knows calls", "device 0 NVIDIA H100 80GB HBM3", "process 1 python",
      "thread 1 pid=1 main" }, 100000, 0
    local function line(format, ...) list[#list + 1] = format:format(...) end
    local first = now
    for step = 1, 24 do
      local begun, free = now, now + 5000
      for k, kernel in ipairs { { "gemm(float *)", 100000 }, { "tail(float *)", 50000 },
        { "flash_fwd_kernel(float *)", 20000 + 1000 * step },
        communicates and { "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(a)", 40000 } or nil } do
        id = id + 1
        line("call %d %d pid=1 thread=1 id=%d cudaLaunchKernel", now + 100 * k, now + 100 * k + 50,
          id)
        line("kernel %d %d pid=1 device=0 call=%d %s", free, free + kernel[2], id, kernel[1])
        free = free + kernel[2]
      end
      line("call %d %d pid=1 thread=1 cudaStreamSynchronize", now + 1000, free)
      line("range %d %d pid=1 thread=1 %s", begun, free + 500,
        by_engine and "execute_context_0(0)_generation_4(4)" or "decode_step")
      now = free + 1000
    end
    if not by_engine then line("range %d %d pid=1 thread=1 decode", first - 1, now + 1) end
    return table.concat(list, "\n") .. "\n"
  end

  -- What counters say of kernels by name: bound, percent of DRAM, of tensor cores.
  local COUNTED = { ["gemm(float *)"] = { "DRAM", 90, 20 }, ["tail(float *)"] = { "latency", 5, 0 },
    ["flash_fwd_kernel(float *)"] = { "latency", 5, 0 } }

  local function over_counted(counted, results, ...)
    local own = source.of(timeline.of(lines(...)), { results = results })
    if counted then
      local frame, columns = query.rows(own.kernels), {}
      local groups = frame:group { by = { "name" }, columns = {} }
      for c, name in ipairs { "bound", "dram_percent", "tensor_percent" } do
        columns[c] = { name = name, type = c == 1 and "string" or "number", values = {} }
        for i = 1, #groups do
          columns[c].values[i] = (counted[groups:get(i, "name")] or {})[c] or false
        end
      end
      local part = { name = "part", type = "string", values = {} }
      for i = 1, #groups do part.values[i] = false end
      columns[4] = not pcall(frame.values, frame, "part") and part or nil
      assert(frame:extend({ "name" }, #groups, columns))
      rawset(own, "kernels", query.wrap(frame))
    end
    return whatif.over { own }
  end

  local function decode_of(question, code) return row(question:change(code):run(), "decode") end

  local SHAPED = { stages = { { name = "decode", wall = { count = 1, mean_ns = 4000000 },
    categories = { { category = "gemm", gpu_time_ns = 2400000 } }, cost = { flops = 1e9,
      weight_bytes = 3.35e12 * 2400000e-9 * 0.9, work = { batch = 4, steps = 24 } } } },
    hardware = { name = "NVIDIA H100 80GB HBM3", format = "bf16" }, kernels = {}, repeats = "no",
    model = { described = { layers = 2, width = 4096 } } }

  it("take less with more bandwidth only where DRAM holds them up", function()
    local question = over_counted(COUNTED)
    local ratio = 4.8e12 / 3.35e12
    near(100000 * (1 - 1 / ratio), decode_of(question, 'gpu "h200"').gain)
    near(100000 * (1 - 1 / ratio), decode_of(question, ("bandwidth(%.9f)"):format(ratio)).gain)
    -- tensor cores of the matmul are at 20 % and have no time to get lower than that
    near(80000, decode_of(question, "bandwidth(100)").gain)
    for _, code in ipairs { "bandwidth(1)", 'gpu "h100_sxm"' } do
      local one = decode_of(question, code)
      assert.same({ 0, 0, 0 }, { one.gain, one.low, one.high }, code)
    end
    assert.is_true(decode_of(question, "bandwidth(0.5)").gain < -99000)
  end)

  it("are changed once each, of several GPUs, too", function()
    local own = source.of(timeline.of(program(3)), {})
    assert.equal(#query.rows(own.kernels),
      whatif.over({ own }):change("bandwidth(2)"):run().changes[1].count)
  end)

  it("lie between both ends where nothing is known of them", function()
    local one = decode_of(over_counted(nil), "bandwidth(2)")
    near(0.5 * 183000, one.gain, 2000)
    near(0, one.low)
    local said = over_counted(nil):change "bandwidth(2)":run().changes[1].rests
    assert.equal("nothing: there are no counters and no shapes that say what limits these kernels",
      said)
  end)

  it("read fewer bytes in another format, by counters or by the model's shapes", function()
    for _, question in ipairs { over_counted(COUNTED), over_counted(nil, SHAPED) } do
      local one = decode_of(question, 'dtype "fp8"')
      near(50000, one.gain)
      -- a matmul a step: what it multiplies may be converted by kernels of their own
      near(50000 - 6000 - 3311, one.low, 100)
    end
  end)

  it("are divided over GPUs, and collectives come on top", function()
    local shaped = over_counted(nil, SHAPED)
    local one = decode_of(shaped, "tp(2, { gb_per_s = 450, us = 5 })")
    -- two layers: four all-reduces of 4 tokens, 4096 numbers, 2 bytes, each of which is sent once
    near(50000 - 4 * (5000 + 4 * 4096 * 2 / 450), one.gain)
    local wide = decode_of(shaped, "tp(2)")
    assert.is_true(wide.low < one.gain and one.gain < wide.high)
  end)

  it("wait for an engine's processes, which each step is handed to", function()
    local one = decode_of(over_counted(nil, SHAPED, false, true), "tp(2)")
    -- the GPU needs 138 us: what the CPU takes more, 300 to 900 us, is not hidden by it
    near(300000, one.after, 10000)
    assert.is_true(one.after_high > 900000 and one.low < -700000)
  end)

  it("go beside others if they communicate", function()
    local one = decode_of(over_counted(nil, nil, true), "overlap(communication)")
    near(40000, one.gain)
    near(0, one.low)
  end)

  it("grow with the answer where they grew over the steps", function()
    -- 24 steps; with 49 tokens the mean step is twice as far on
    local one = decode_of(over_counted(nil), "tokens(49)")
    near(-12000, one.gain, 500)
  end)

  it("refuse what they have no ground for", function()
    for code, message in pairs {
      ["tp(2, 3)"] = "tp: a table is expected, not 3",
      ["tp(2, { gb_per_s = 0 })"] = "tp: gb_per_s: a number above 0 is expected, not 0",
      ["tp(2, { gbps = 300 })"] = "tp: no key 'gbps'",
      ["overlap(communication(3))"] = "no stage is called '3'",
      ["bandwidth(2)(3)"] = "bandwidth(2)(3): attempt to call a table value",
      ['dtype "fp8"'] = "no counters, no shapes: dtype cannot be predicted",
      ['dtype "fp7"'] = "dtype: one of fp8, fp4 is expected, not 'fp7'",
      ['gpu "h201"'] = "gpu: no GPU 'h201' (did you mean 'h200'?)",
      ["bandwidth(1e-300)"] = "bandwidth: kernels would take more than 1e+06 times as long",
      ["bandwidth(0)"] = "bandwidth: a number above 0 is expected, not 0",
      ["tp(2)"] = "tp: layers, width and batch of the model are not known: collectives have no "
        .. "size",
      ["tp(1)"] = "tp: over how many GPUs?",
      ["tokens(1)"] = "tokens: how many an answer?",
      ["overlap(communication)"] = "communication hidden by what computes: nothing matches",
      ["overlap(kernels)"] = "overlap: of what?",
      ["tokens(1000)"] = "tokens(1000): answers of 25 were recorded, and a prediction reaches to 4 "
        .. "times that",
      ['tokens(40, "prefill")'] = "tokens: steps of prefill are not known",
      ["tokens(40, 5)"] = "tokens: steps of 5 are not known",
      ["load(8)"] = "load(8): a replay says nothing of another load",
    } do
      assert.are_equal(message, failure(function()
        over_counted(nil):change(code):run()
      end)[2])
    end
  end)
end)

describe("a load that was not measured", function()
  -- A server, step by step: a front end that takes 0.8 ms a request and 12 ms besides, steps of
  -- 2.5 ms and 0.03 for each request that decodes, of 16 ms or 5 us a token with prompts; tokens
  -- come one step later. What `count` clients see, of whom each waits for its answer, as
  -- metrics.json has it; more[n]: so many more come when n were answered; they begin `apart` ms one
  -- after the other; late: the front end takes up to so many ms more, by chance.
  local function served(count, total, rounds, more, apart, late)
    local dice = 1
    local now, free, queue, running, done, sent = 0, 0, {}, {}, {}, 0
    local held = {}
    local function send(time)
      dice = dice * 48271 % 2147483647
      sent, free = sent + 1, math.max(free, time) + 0.8 + (late or 0) * dice / 2147483647
      queue[#queue + 1] = { sent = time, at = free + 12, left = 64 }
    end
    for i = 1, count do send((apart or 0) * (i - 1)) end
    while #done < total do
      local first, prompts = {}, 0
      while queue[1] and queue[1].at <= now and prompts + 512 + #running <= 8192 do
        first[#first + 1], prompts = table.remove(queue, 1), prompts + 512
      end
      local out = {}
      if #first + #running > 0 then
        local ms = #running > 0 and 2.5 + 0.03 * #running or 0
        now = now + (prompts > 0 and math.max(16, ms, 0.005 * prompts) or ms)
        for _, one in ipairs(first) do running[#running + 1] = one end
        local left = {}
        for _, one in ipairs(running) do
          one.left = one.left - 1
          if one.left == 63 or one.left == 0 then out[#out + 1] = { one, one.left } end
          if one.left > 0 then left[#left + 1] = one end
        end
        running = left
      elseif #held == 0 then
        now = math.max(now, queue[1].at)
      end
      for _, entry in ipairs(held) do
        local one = entry[1]
        if entry[2] == 63 then
          one.first = now
        else
          one.stop, done[#done + 1] = now, one
          for _ = 1, rounds and 0 or 1 + (more and more[#done] or 0) do send(now) end
        end
      end
      if rounds and #done == sent then for _ = 1, count do send(now) end end
      held = out
    end
    local requests = {}
    for i, one in ipairs(done) do
      requests[i] = { sent_utc_ns = math.floor(1e15 * count + 1e6 * one.sent), ttft_ms = one.first
        - one.sent, ms = one.stop - one.sent, tokens = 64, prompt_tokens = 512 }
    end
    return { load = not rounds and { kind = "command" } or nil,
      repeats = { { requests = requests }, rounds and { requests = {} } or nil } }
  end

  local function seen(metrics)
    local ttft, tpot = {}, {}
    local list = metrics.repeats[1].requests
    for i = #list // 3, #list do
      ttft[#ttft + 1], tpot[#tpot + 1] = list[i].ttft_ms, (list[i].ms - list[i].ttft_ms) / 63
    end
    return statistics.median(ttft), statistics.median(tpot)
  end

  local function within(share, expected, actual)
    assert.is_true(math.abs(actual / expected - 1) <= share,
      ("%.2f expected, %.2f came"):format(expected, actual))
  end

  for what, rounds in pairs { ["of clients that wait for their answers"] = false,
    ["in rounds"] = true } do
    it("is what the queue gives between two that were, " .. what, function()
      local list = load.requests { served(1, 20, rounds), served(8, 80, rounds),
        served(24, 144, rounds) }
      local rows = load.predict(list, { 4, 12 })
      for _, one in ipairs(rows) do
        local ttft, tpot = seen(served(one.concurrency, 10 * one.concurrency, rounds))
        within(0.12, ttft, one.ttft_ms)
        within(0.12, tpot, one.tpot_ms)
        assert.is_true(one.ttft_low_ms <= one.ttft_ms and one.ttft_ms <= one.ttft_high_ms)
      end
    end)
  end

  it("is what one load says in which clients were more and more", function()
    local list = load.requests { served(1, 500, false, { [10] = 2, [40] = 3, [80] = 6,
      [160] = 12 }) }
    for _, one in ipairs(load.predict(list, { 2, 4, 8, 16 })) do
      local ttft, tpot = seen(served(one.concurrency, 10 * one.concurrency))
      within(0.1, ttft, one.ttft_ms)
      within(0.1, tpot, one.tpot_ms)
    end
  end)

  it("is of clients that drift apart where those that were measured did", function()
    local list = load.requests { served(1, 600, false, { [10] = 2, [40] = 3, [80] = 6,
      [160] = 12 }, nil, 6) }
    local one = load.predict(list, { 16 })[1]
    local ttft, tpot = seen(served(16, 400, false, nil, nil, 6))
    within(0.1, ttft, one.ttft_ms)
    within(0.1, tpot, one.tpot_ms)
  end)

  it("leaves answers of one token out of the time between tokens", function()
    local metrics = served(1, 200, false, { [20] = 1, [80] = 2 })
    for i, one in ipairs(metrics.repeats[1].requests) do
      if i % 3 == 0 then one.tokens, one.ms = 1, one.ttft_ms end
    end
    local found = load.predict(load.requests { metrics }, { 2 })[1]
    assert.is_true(found.tpot_ms > 2 and found.tpot_ms < 6)
  end)

  it("is refused where nothing says it", function()
    local two = { served(2, 20), served(8, 80) }
    local function said(list, wanted)
      return failure(function() load.predict(load.requests(list), wanted) end)[2]
    end
    assert.equal("load(1): requests were measured at 2 to 8 at once", said(two, { 1 }))
    local rows, _, refused = load.predict(load.requests(two), { 4, 9 })
    assert.same({ 1, 4 }, { #rows, rows[1].concurrency })
    assert.same({ "load(9): requests were measured at 2 to 8 at once" },
      { refused[1].message, refused[2] })
    assert.equal("load: there are no requests of a load to a server", said({ {} }, { 4 }))
    assert.matches("^load%(8%): %d+ tokens of prompts would meet in a step, %d+ did$",
      said({ served(7, 80, false, { [3] = 1 }, 30) }, { 8 }))
    local whole, short = served(2, 20), served(2, 20)
    for i, one in ipairs(whole.repeats[1].requests) do
      one.ttft_ms, short.repeats[1].requests[i].tokens = one.ms, 1
    end
    assert.equal("load: the last token came with the first", said({ whole }, { 2 }))
    assert.equal("load: no concurrency has 8 requests of more than one token",
      said({ short }, { 2 }))
    two[1].repeats[1].requests[1].sent_utc_ns = nil
    assert.equal("load: the requests do not say when they were sent", said(two, { 4 }))
    two[1].repeats[1].requests[1].sent_utc_ns = 1
    two[1].repeats[1].requests[1].prompt_tokens = nil
    assert.equal("load: the requests do not say how long their prompts were", said(two, { 4 }))
    for _, asked in ipairs { "load()", "load(2.5)", "load(99999999999999999999)", "load(x)" } do
      assert.equal("load: at how many requests at a time?", failure(load.asked, asked)[2])
    end
    assert.is_nil(load.asked 'graphs("decode")')
  end)
end)
