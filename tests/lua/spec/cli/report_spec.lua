-- llmprof report, and every command that takes a run, on traces without a recipe.
local bundle = require "tests.lua.support.bundle"
local child = require "tests.lua.support.child"
local fs = require "llmprof.fs"
local handed = require "llmprof.trace.handed"
local json = require "llmprof.json"

local FIXTURES = assert(fs.cwd()) .. "/tests/fixtures/"


describe("a trace without a recipe", function()
  local top = bundle.scratch(before_each, after_each)
  local path

  before_each(function() path = "/usr/bin:/bin" end)

  local llmprof = child.caller(top, function()
    return { cwd = top(), env = { XDG_CACHE_HOME = top() .. "/cache", DISPLAY = false,
      WAYLAND_DISPLAY = false, PATH = path, CUDA_HOME = top(), CUDA_PATH = top() } }
  end)

  local function results_in(dir)
    return assert(json.decode(assert(fs.read(("%s/%s/results.json"):format(top(), dir)))))
  end

  local function take(fixture, name)
    assert(fs.mkdirs(top() .. "/" .. name:match "^(.-)[^/]*$"))
    assert(fs.copy(FIXTURES .. fixture, top() .. "/" .. name))
  end

  local function names(list, key)
    local made = {}
    for i, entry in ipairs(list) do made[i] = entry[key] end
    return made
  end

  it("makes a bundle, with or without the word report", function()
    local code, said = llmprof(FIXTURES .. "tiny_h200/run.sqlite", "--out", "a")
    assert.equal(0, code)
    assert.matches("^tiny_h200 on NVIDIA H200 · a\n\nDecode is launch%-bound%.", said)
    assert.matches("\nabsent: counters: an export of Nsight Systems has none", said)
    assert.matches("\npage: a/report.html\n$", said)
    assert.same({ "prefill", "decode" }, names(results_in "a".stages, "name"))
    code = llmprof("report", FIXTURES .. "tiny_h200/run.sqlite", "--out", "b", "-q")
    assert.equal(0, code)
    assert.same(results_in "a".kernels, results_in "b".kernels)
  end)

  it("holds plain times against the timeline where the profiled run wrote none", function()
    take("tiny_h200/run.sqlite", "t/run.sqlite")
    assert(fs.write(top() .. "/t/before.json", [[{ "schema_version": 1, "repeats": [
      { "index": 1, "stages": { "decode": { "ms": 0.5 } } } ] }]]))
    assert.equal(0, (llmprof("report", "t", "--out", "a", "-q")))
    local results = results_in "a"
    local stage, row = results.stages[2], results.overhead.stages[1]
    assert.same({ "decode", 0.5 }, { row.name, row.plain_ms })
    assert.near(stage.wall.mean_ns * stage.wall.count / results.repeats.used / 1e6,
      row.profiled_ms, 0.001)
  end)

  it("reads a trace of torch.profiler, operators and all", function()
    assert.equal(0, (llmprof("report", FIXTURES .. "torch/run.json", "--out", "a")))
    local results = results_in "a"
    assert.same({ "prefill", "decode" }, names(results.stages, "name"))
    assert.equal("torch.profiler", results.source.timeline.tool)
    assert.is_true(#results.operators.operators > 0)
    assert.same({ "the workload's own numbers", "counters" },
      { table.unpack(names(results.missing, "what"), 1, 2) })
  end)

  it("reads a profile of JAX", function()
    take("xplane/run.xplane.pb", "run.xplane.pb")
    local code, said = llmprof("report", "run.xplane.pb", "--out", "a")
    assert.equal(0, code)
    assert.matches("^run on NVIDIA GPU · a\n", said)
    assert.matches("\nabsent: counters: profiles of XLA have none", said)
    local results = results_in "a"
    assert.same({ "train" }, names(results.stages, "name"))
    assert.same({ "loop_add_fusion", "dot.3" }, (function()
      local list = names(results.operators.operators, "name")
      table.sort(list, function(one, other) return one > other end)
      return list
    end)())
  end)

  it("speaks of no GPU where none is in a trace", function()
    assert(fs.write(top() .. "/cpu.json", '{"schemaVersion":1,"traceEvents":['
      .. '{"ph":"X","cat":"user_annotation","name":"forward","pid":1,"tid":1,"ts":10,"dur":90},'
      .. '{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":20,"dur":50}]}'))
    local code, said = llmprof("report", "cpu.json", "--out", "a")
    assert.equal(0, code)
    assert.matches("^cpu on the CPU · a\n", said)
    assert.matches("\nNo rule found anything to change. Forward takes 0.09 ms on the CPU.\n", said)
    assert.is_nil(said:find "absent: [^\n]*GPU")
    assert.equal("aten::mm", results_in("a").operators.operators[1].name)
  end)

  it("takes stages, a model and settings by options", function()
    assert.equal(0, (llmprof(FIXTURES .. "tiny_h200/run.sqlite", "--out", "a", "-q",
      "--stages", "decode", "--model", "llama3_8b", "top_n.kernels=1")))
    local results = results_in "a"
    assert.same({ "decode" }, names(results.stages, "name"))
    assert.is_truthy(results.model.described)
    assert.equal(1, #results.selection.kernels)
  end)

  it("joins what lies beside it", function()
    take("small/run.sqlite", "in/run.sqlite")
    take("small/metrics.json", "in/metrics.json")
    take("small/ncu/raw.csv", "in/run.csv")
    assert.equal(0, (llmprof("in/run.sqlite", "--out", "a", "-q")))
    assert.is_truthy(results_in "a".counters)
    assert.is_true(fs.stat(top() .. "/a/workload/metrics.json") ~= nil)
  end)

  it("joins the log of an engine's server, and no other log", function()
    take("torch/run.json", "run.json")
    assert(fs.write(top() .. "/a.log", "Running: many reqs\n"))
    assert(fs.write(top() .. "/b.log", "INFO Engine 000: Avg prompt throughput: 1.0 tokens/s, "
      .. "Running: 8 reqs, Waiting: 0 reqs, GPU KV cache usage: 25.0%, Prefix cache hit rate: "
      .. "0.0%\nother\nRunning: 6 reqs, Waiting: 2 reqs, GPU KV cache usage: 50.0%, Prefix cache "
      .. "hit rate: 12.5%\n"))
    local _, said = llmprof("report", "run.json", "--out", "none")
    assert.is_nil(results_in("none").engine_metrics)
    assert.matches("absent: the server's log: it lies next to", said)
    assert.equal(0, (llmprof("report", "run.json", "b.log", "--out", "a")))
    local expected = { looks = 2, running = { mean = 7, min = 6, max = 8 },
      waiting = { mean = 1, min = 0, max = 2 }, kv_use = { mean = 0.375, min = 0.25, max = 0.5 },
      prefix_hit_share = 0.125 }
    assert.same(expected, results_in("a").engine_metrics)
    assert(fs.write(top() .. "/b.log", "[2026-11-27 10:00:00] Decode batch. #running-req: 4, "
      .. "#token: 20, token usage: 0.25, cuda graph: True, #queue-req: 1\n"))
    assert.equal(0, (llmprof("report", "run.json", "b.log", "--out", "b")))
    assert.same({ looks = 1, running = { mean = 4, min = 4, max = 4 },
      waiting = { mean = 1, min = 1, max = 1 }, kv_use = { mean = 0.25, min = 0.25, max = 0.25 } },
      results_in("b").engine_metrics)
  end)

  it("takes a folder of ranks, and says which files are no use", function()
    for i = 0, 3 do take(("ranks4/rank%d.sqlite"):format(i), ("in/rank%d.sqlite"):format(i)) end
    local whole = assert(fs.read(top() .. "/in/rank3.sqlite"))
    assert(fs.write(top() .. "/in/rank3.sqlite", whole:sub(1, #whole // 2)))
    take("torch/run.json", "in/run.json")
    take("ranks4/README.md", "in/README.md")
    local code, _, complaints = llmprof("in", "--out", "a", "-q", "--strict")
    assert.equal(1, code)
    assert.matches("rank3.sqlite: left out: ", complaints)
    assert.not_matches("README", complaints)
    assert.equal(3, #results_in "a".ranks.ranks)
  end)

  it("leaves out what is of no rank of the run", function()
    take("ranks4/rank0.sqlite", "in/rank0.sqlite")
    take("ranks4/rank1.sqlite", "in/rank1.sqlite")
    take("tiny_h200/run.sqlite", "in/rank9.sqlite")
    local code, _, complaints = llmprof("in", "--out", "a", "-q")
    assert.equal(0, code)
    assert.matches("rank9.sqlite: left out: of another run: .* apart from rank0.sqlite",
      complaints)
    assert.equal(2, #results_in "a".ranks.ranks)
  end)

  it("is made once for all commands that take a run", function()
    take("tiny_h200/run.sqlite", "run.sqlite")
    local code, said = llmprof("digest", "run.sqlite")
    assert.equal(0, code)
    assert.matches("next:\n  llmprof show run.sqlite stages\n", said)
    assert.matches('"id":"run"', (select(2, llmprof("digest", "run.sqlite", "-f", "json"))))
    local kept = assert(fs.list(top() .. "/cache/llmprof/reports"))
    assert.equal(1, #kept)
    code, said = llmprof("show", "run.sqlite", "stages", "-f", "csv")
    assert.equal(0, code)
    assert.matches("\nprefill,1,475975,", said)
    code, said = llmprof("open", "--print", "run.sqlite")
    assert.equal(0, code)
    assert.matches("/cache/llmprof/reports/[^/]+/report.html\n$", said)
    assert.same(kept, assert(fs.list(top() .. "/cache/llmprof/reports")))
    assert.equal(0, (llmprof("report", "run.sqlite", "--out", "made")))
    local status, _, complaint = llmprof("record", "run.sqlite", "kept")
    assert.equal(2, status)
    assert.truthy(complaint:find("llmprof report makes a run of it", 1, true))
    assert.equal(0, (llmprof("record", "./made", "kept")))
    assert.is_truthy(fs.stat(top() .. "/kept/run.sqlite"))
    code, said = llmprof("clean", "--cache", "--yes")
    assert.equal(0, code)
    assert.matches("^removed 1 file, ", said)
  end)

  it("is taken as a folder by those that take traces", function()
    take("torch/run.json", "in/run.json")
    for _, words in ipairs { { "stats", "in" }, { "-e", "#kernels", "in" },
      { "operators", "in" }, { "export", "in", "-o", "x.json.gz" },
      { "scrub", "in", "-o", "x.sqlite" }, { "compare", "in", "in/run.json" },
      { "digest", "in" } } do
      local code, _, complaints = llmprof(table.unpack(words))
      assert.same({ table.concat(words, " "), 0, "" },
        { table.concat(words, " "), code, code == 0 and "" or complaints })
    end
    take("tiny_h200/run.sqlite", "in/a.sqlite")
    take("small/run.sqlite", "in/b.sqlite")
    local code, _, complaints = llmprof("stats", "in")
    assert.equal(2, code)
    assert.matches("^llmprof: in: 2 traces: name one\n", complaints)
  end)

  it("needs nsys where it is a report of it, and says what to run", function()
    assert(fs.write(top() .. "/run.nsys-rep", "x"))
    for _, name in ipairs { "report", "stats", "digest" } do
      local code, _, complaints = llmprof(name, "run.nsys-rep")
      assert.equal(3, code)
      assert.matches("nsys export %-%-type=sqlite run.nsys%-rep", complaints)
    end
  end)

  it("is exported once where there is nsys", function()
    path = FIXTURES .. "../standin:" .. path
    assert(fs.write(top() .. "/run.nsys-rep", FIXTURES .. "tiny_h200/run.sqlite\n"))
    assert.equal(0, (llmprof("report", "run.nsys-rep", "--out", "a", "-q")))
    assert.same({ "prefill", "decode" }, names(results_in "a".stages, "name"))
    path = "/usr/bin:/bin"
    local code, said = llmprof("-e", "#kernels", "run.nsys-rep")
    assert.same({ 0, "20010\n" }, { code, said })
  end)

  it("is refused in one line where it is none", function()
    assert(fs.write(top() .. "/notes.txt", "hello\n"))
    assert(fs.mkdirs(top() .. "/empty"))
    assert(fs.write(top() .. "/cpu.folded", "main;step 3\n"))
    for name, message in pairs { ["notes.txt"] = "notes.txt: no trace: ",
      ["empty"] = "empty: no trace in it\n",
      ["cpu.folded"] = "cpu.folded: collapsed stacks, which name no kernels\n" } do
      local code, _, complaints = llmprof(name)
      assert.equal(2, code)
      assert.equal("llmprof: " .. message, complaints:sub(1, #message + 9))
    end
  end)
end)


describe("llmprof operators", function()
  local top = bundle.scratch(before_each, after_each)

  it("says what a file is that names none", function()
    local code, _, complaints = child.caller(top)("operators", FIXTURES .. "small/run.sqlite")
    assert.equal(2, code)
    assert.matches("small/run.sqlite: an export of Nsight Systems names no operators", complaints,
      1, true)
  end)
end)


describe("llmprof.trace.handed", function()
  local top = bundle.scratch(before_each, after_each)

  it("takes traces of one format, and operators of the other", function()
    assert(fs.copy(FIXTURES .. "small/run.sqlite", top() .. "/run.sqlite"))
    assert(fs.copy(FIXTURES .. "torch/run.json", top() .. "/a.json"))
    local found = handed.look { top() }
    assert.same({ "nsys", { top() .. "/run.sqlite" }, {} },
      { found.format, found.traces, found.left_out })
    assert.equal(top() .. "/a.json", found.files["workload/operators.json"])
    assert(fs.write(top() .. "/capture.json", '{"tool": "nsys"}')) -- of a recorded capture
    assert.same({}, handed.look({ top() }).left_out)
    assert(fs.copy(FIXTURES .. "torch/run.json", top() .. "/b.json"))
    local why = ": left out: a trace of torch.profiler, next to an export of Nsight Systems"
    assert.same({ "a.json" .. why, "b.json" .. why }, handed.look({ top() }).left_out)
  end)
end)
