-- What there is to ask about, and what code at the prompt makes of it.
local bundle = require "tests.lua.support.bundle"
local evaluate = require "llmprof.cli.repl.evaluate"
local failure = require "tests.lua.support.failure"
local terminal = require "llmprof.cli.repl.terminal"
local session = require "llmprof.query.session"

local FOLDER = "tests/fixtures/deepseek_ocr"
local NEEDS = "run and results come with the folder of a run, counters with it or a raw page of "
  .. "ncu, all others with a trace in which they are found"

local TRACE = FOLDER .. "/run.sqlite"
local COUNTERS = FOLDER .. "/ncu/raw.csv"


-- As the prompt prints it.
local function printed(frame)
  return tostring(frame) .. "\n"
end


describe("a trace", function()
  local s = session.open { TRACE }

  it("has stages from its outermost ranges", function()
    assert.equal([[
stage     count  duration ms
prefill  10,206       64.471
decode   25,488       70.750
]], printed(s.kernels:group("stage"):sum("dur")))
    assert.same({ "prefill", "decode", "prefill", "decode", "prefill", "decode" }, s.stages.stage)
  end)

  it("has the stages that a report infers where no range marks any", function()
    local unmarked = session.open { "tests/fixtures/unmarked/eager.sqlite" }
    assert.same({ "prefill", "decode" }, { unmarked.stages[1].stage, unmarked.stages[2].stage })
    assert.is_true(#unmarked.kernels:where { stage = "decode" } > 0)
  end)

  it("has categories, calls, ranges and transfers", function()
    assert.equal(62724, s.kernels:where { category = "gemm" }:sum "dur" // 1000)
    assert.same({ 35694, 37176, 1482 }, { #s.kernels, #s.ops, #s.transfers })
    assert.is_true(#s.api > #s.kernels)
    assert.equal(6, #s.ranges:where { tag = { "prefill", "decode" } })
  end)

  it("answers SQL", function()
    assert.equal([[
n  name  mean
2  b     1.25
]], printed(s.sql("SELECT 2 AS n, ? AS name, 1.25 AS mean", "b")))
    assert.equal("a\n1\nx\n\n", printed(s.sql[[
      SELECT 1 AS a UNION ALL SELECT 'x' UNION ALL SELECT NULL]]))
    local err = failure(s.sql, "SELECT nowhere FROM StringIds")
    assert.same({ "usage", "sql: " .. TRACE .. ": no such column: nowhere",
      "sql[[SELECT name FROM sqlite_master]] lists the tables" }, err)
  end)

  it("has no results", function()
    assert.same({ "usage", "results: no file was given that has it",
      NEEDS }, failure(function() return s.results end))
    assert.same({ "usage", "counters: no file was given that has it",
      NEEDS }, failure(function() return s.counters end))
  end)
end)


describe("a trace with stacks", function()
  local s = session.open { "tests/fixtures/torch/lines.json" }

  it("tells lines, modules and layers of kernels", function()
    assert.equal([[
line          function  layer  count  duration µs
m/model.py:9  forward              4        12.00
m/model.py:5  forward       0     12        36.00
m/model.py:5  forward       1     12        36.00
]], printed(s.kernels:group("line", "function", "layer"):sum("dur")))
    assert.same({ "Model", "Model.Layer.0.Linear", "Model.Layer.0" },
      s.kernels:head(3):values "module")
  end)

  it("has the last layer of each step, and says which lines gaps are between", function()
    local layers = s.layers:where { phase = "decode" }:group("layer"):agg("count", "mean dur")
    assert.same({ { 3, 3 }, { 35000, 21000 } }, { layers.count, layers:values "duration_mean" })
    assert.same({ "m/model.py:5", "m/model.py:9" }, (function()
      local longest = s.gaps:sort("-dur"):head(1)
      return { longest:values "line_before"[1], longest:values "line"[1] }
    end)())
  end)
end)


describe("counters", function()
  it("are frames of their own", function()
    local s = session.open { COUNTERS }
    assert.equal(110, #s.kernels)
    assert.equal(s.kernels, s.counters)
    assert.same({ 278368, "prefill", "L1" },
      { s.kernels[1].dur, s.kernels[1].stage, s.kernels[1].bound })
  end)

  it("have the stages of the timeline beside them, not the range that gated the capture",
    function()
      local found = session.open({ "tests/fixtures/recorded/deepseek_ocr" }).counters
      assert.same({ "decode", "prefill" }, found:unique("stage"):sort("stage").stage)
      assert.equal("measured", session.open({ "tests/fixtures/recorded/deepseek_ocr/ncu/raw.csv" })
        .counters[1].stage)
    end)

  it("stand beside the kernels of a recorded capture", function()
    local kernels = session.open({ FOLDER }).kernels
    assert.same({ "DRAM", "L1", "issue", "latency", "tensor", false },
      kernels:unique("bound"):sort("bound").bound)
    assert.equal(#kernels:where { bound = true }, #kernels:where { sm_percent = true })
    local gemm = { stage = "decode", short = "nvjet_sm90_tst_16x64_64x16_4x1_v_bz_TNN" }
    assert.near(8.07, kernels:where(gemm):mean "sm_percent", 0.01)
    assert.near(9.40, kernels:where(gemm):mean "dram_percent", 0.01)
  end)
end)


describe("a run", function()
  local top = bundle.scratch(before_each, after_each)

  it("has its stages as analysed, results and counters", function()
    local ctx = bundle.run("recipes/deepseek_ocr.lua", top() .. "/run", { "capture=recorded",
      "recorded=tests/fixtures/deepseek_ocr" })
    local s = session.open { ctx.run.dir }
    assert.same({ "deepseek_ocr", "done" }, { s.run.recipe, s.run.status })
    assert.equal("deepseek_ocr", s.results.run.recipe)
    assert.same({ "prefill", "sam", "clip", "projector", "decode" }, s.stages:head(5).stage)
    assert.same({ 1, 1, 1 }, s.stages:where { stage = "decode" }.used)
    assert.equal(110, #s.counters)
    assert.equal(1230, #s.kernels:where { part = "sam" })
  end)
end)


describe("several files", function()
  it("are all there", function()
    local s = session.open { COUNTERS, TRACE }
    assert.equal(2, #s.files)
    assert.equal(110, #s.files[1].kernels)
    assert.equal(35694, #s.files[2].kernels)
    assert.equal(COUNTERS .. " (counters)", tostring(s.files[1]))
  end)
end)


describe("code", function()
  local function run(code, environment)
    local chunk, wrong, is_open = evaluate.compile(code, "=x", environment or _G)
    if not chunk then return wrong.message, is_open end
    local text, err = evaluate.run(chunk)
    return text or err
  end

  it("prints what expressions give", function()
    assert.equal("2\n", run "1 + 1")
    assert.equal("1\na\nnil\n", run "1, 'a', nil")
    assert.equal("", run "local x = 1")
    assert.equal('{ 1, "two", three = { 0.5 } }\n', run "{ 1, 'two', three = { 0.5 } }")
  end)

  it("may want more lines", function()
    assert.same({ "unfinished: '=' or 'in' expected", true }, { run "for i" })
    assert.same({ "not understood at ')'", false }, { run "f = )" })
  end)

  it("fails with one line and a hint", function()
    assert.same({ kind = "usage", message = "no" }, run "error 'no'")
    assert.same({ kind = "usage", message = "{ 1 }" }, run "error { 1 }")
    assert.same({ kind = "usage", message = "an error that cannot be shown: table" },
      run "error(setmetatable({}, { __tostring = function() error 'no' end }))")
    local s = session.open { TRACE }
    local err = run("results", setmetatable({}, { __index = s }))
    assert.same({ "results: no file was given that has it", NEEDS }, { err.message, err.hint })
  end)
end)


describe("tables at the prompt", function()
  it("are cut at three levels and fifty items", function()
    assert.equal("{ { { {...} } } }", evaluate.value_text { { { { 1 } } } })
    local many = {}
    for i = 1, 60 do many[i] = i end
    assert.equal("-- and 10 more", evaluate.value_text(many):match "\n  (%-%- and.-)\n")
    assert.equal('{ [true] = 1, [-1] = 0, a = "x\\ny", ["b c"] = {} }',
      evaluate.value_text { a = "x\ny", ["b c"] = {}, [-1] = 0, [true] = 1 })
  end)

  it("may hide their metatable", function()
    assert.equal("{ 1 }", evaluate.value_text(setmetatable({ 1 }, { __metatable = 5 })))
  end)
end)


describe("Tab", function()
  local environment, globals = session.environment { TRACE }

  local function word(before)
    return { terminal.complete(before, environment, globals) }
  end

  it("completes globals, fields and methods", function()
    assert.same({ "rnels" }, word "ke")
    assert.same({ "at" }, word "string.form")
    assert.same({ [2] = "where  with" }, word "x = kernels:where{}:w")
    assert.same({ [2] = "where  with" }, word "kernels:w")
    assert.same({ "ere" }, word "kernels:wh")
    assert.same({ "centile" }, word 'kernels:group("name"):per')
    assert.same({}, word "nothing_like_it")
  end)

  it("offers no name that a file chose to end the quotes or to act on a terminal", function()
    local declared = {}
    for i, name in ipairs { "dead sure", "dead\27]0;x\7", 'dead" } os.exit() --', "dead'", "dead\\",
      "dead\nend", "dead\u{202e}", "dead\255" } do declared[i] = { name = name } end
    local read = { trace_path = "x", declared = declared }
    local with = setmetatable({ files = { read } }, { __index = globals })
    assert.same({ " sure" }, { terminal.complete('kernels:where{stage="dead', environment, with) })
    assert.same({}, { terminal.complete("kernels:where{dead", environment, with) })
  end)

  it("completes columns and stages in quotes", function()
    assert.same({ "ory" }, word 'kernels:group("categ')
    assert.same({ "ode" }, word 'kernels:where { stage = "dec')
    assert.same({ "n" }, word 'kernels:sort("-duratio')
    assert.same({ "ory" }, word "kernels:where { categ")
  end)
end)


describe("help", function()
  local s = session.open { TRACE }

  it("is about globals, methods and columns", function()
    assert.equal("global       what it is\nkernels      every kernel: a frame\n",
      s.help():match "^.-\n.-\n")
    assert.equal("top(10, \"dur\")\n  the first rows, or those with the largest values\n"
      .. '  for example: kernels:top(10, "dur")\n', s.help "top")
    assert.equal("trace: the trace itself, as llmprof.trace opens it\n"
      .. "  for example: trace:info()\nmodule: help(require \"llmprof.trace\")\n", s.help "trace")
    assert.equal("column tid: thread\n  for example: api:group(\"tid\"):sum(\"dur\")\n",
      s.help "tid")
    assert.equal("column  type    unit  what it is\n"
      .. "stage   string        outermost stage around the launch\n",
      s.help(s.stages:select "stage"):match "^.-\n.-\n")
    assert.same({ "usage", "help: nothing about 'kernles' (did you mean 'kernels'?)",
      'help() lists the globals, help "methods" the methods' }, failure(s.help, "kernles"))
  end)
end)


describe("the history", function()
  it("is in a folder of the home", function()
    assert.equal("llmprof/history", terminal.path():match "llmprof/history$")
  end)
end)
