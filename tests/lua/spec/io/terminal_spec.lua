-- What a run prints, on a terminal and elsewhere.
local progress = require "llmprof.run.progress"
local sys = require "llmprof.sys"
local output = require "llmprof.io.output"

-- A stream that remembers, and a function that gives what was written to it.
local function stream()
  local pieces = {}
  local function write(_, ...)
    for _, piece in ipairs { ... } do pieces[#pieces + 1] = piece end
    return true
  end
  local function flush() return true end
  return { write = write, flush = flush }, function() return table.concat(pieces) end
end


-- Call f as if standard output were a terminal of this many columns (nil: none)
-- and the environment held these variables only.
local function with_terminal(columns, variables, f)
  local isatty, real_columns, getenv = sys.isatty, sys.columns, os.getenv
  sys.isatty = function() return columns ~= nil end
  sys.columns = function() return columns end
  os.getenv = function(name) return variables[name] end -- luacheck: ignore 122
  local ok, message = pcall(f)
  sys.isatty, sys.columns = isatty, real_columns
  os.getenv = getenv -- luacheck: ignore 122
  assert(ok, message)
end


describe("llmprof.io.output", function()
  -- What is written for a styled line between two statuses.
  local function written(columns, variables)
    local out, text = stream()
    with_terminal(columns, variables, function()
      local writer = output.terminal(out, 1)
      writer.status "a status that is long"
      writer.clear()
      writer.line(writer.style("red", "x") .. writer.style("bold", "y"))
    end)
    return text()
  end

  it("is as wide as the terminal that a stream leads to", function()
    with_terminal(80, {}, function()
      sys.isatty = function(fd) return fd == 2 end
      assert.same({ [2] = 80 }, { output.columns(1), output.columns(2) })
    end)
  end)

  it("styles and replaces lines on a terminal", function()
    assert.equal("\r\27[Ka statu…\r\27[K\27[31mx\27[0m\27[1my\27[0m\n", written(9, {}))
    assert.equal(written(9, {}), written(9, { NO_COLOR = "", TERM = "xterm" }))
  end)

  it("shows what a text would do to the terminal", function()
    local out, text = stream()
    with_terminal(80, {}, function()
      local writer = output.terminal(out, 1)
      writer.status "a\27[2Jb"
      writer.line("\27]0;x\7" .. writer.style("red", "a\27[mb") .. "\n\u{202e}c")
    end)
    assert.equal("\r\27[Ka\u{fffd}[2Jb"
      .. "\u{fffd}]0;x\u{fffd}\27[31ma\u{fffd}[mb\27[0m\n\\u{202e}c\n",
      text())
  end)

  it("is plain elsewhere, and where that is asked for", function()
    assert.equal("xy\n", written(nil, {}))
    assert.equal("xy\n", written(80, { NO_COLOR = "1" }))
    assert.equal("xy\n", written(80, { TERM = "dumb" }))
  end)
end)


describe("llmprof.run.progress", function()
  it("replaces its line on standard error, and leaves none", function()
    local stderr, out, text = io.stderr, stream()
    with_terminal(80, {}, function()
      io.stderr = out -- luacheck: ignore 122
      local ui = progress.new { brief = true }
      ui.begin "plan"
      ui.finish()
      io.stderr = stderr -- luacheck: ignore 122
    end)
    assert.equal("\r\27[K  plan ...\r\27[K", text())
  end)

  -- What use(ui) prints, on a terminal of this many columns or elsewhere. given: of
  -- progress.new.
  local function printed(use, given, columns)
    local out, text = stream()
    given = given or {}
    given.stream = out
    with_terminal(columns, {}, function() use(progress.new(given)) end)
    return text()
  end

  -- A run whose steps are through.
  local function ended(results)
    return { fields = { results = results }, givers = {}, kept = {}, run = { dir = "tmp/x" } }
  end

  local function all(ui)
    ui.start({ name = "r" }, { capture = "recorded" }, { dir = "tmp/x" })
    ui.begin "plan"
    ui.done("plan", 0.04, "mode default")
    ui.kept "timeline"
    ui.begin "counters"
    ui.progress("counters", 2, "launch 1")
    ui.failed("counters", 75.2, { message = "no GPU" })
    ui.skipped("render", "needs the step 'analyse', which failed")
    ui.finish(ended(), { message = "no GPU" })
  end

  it("prints a line per step and the bundle's path", function()
    assert.equal([[
r · capture=recorded · tmp/x
  plan          0.0 s   mode default
  timeline              kept from before
  counters     75.2 s   failed: no GPU
  render                skipped: needs the step 'analyse', which failed

bundle so far: tmp/x
]], printed(all))
  end)

  it("ends with a table of the stages", function()
    local results = { stages = { { name = "prefill", wall = { count = 2, mean_ns = 2500000 },
      gpu_busy_ns = 1e6, idle_share = 0.6, launches = 1234.5, bound = "launch", instances = {} },
      { name = "sam", parent = "prefill", wall = { count = 2, mean_ns = 1000000 },
        gpu_busy_ns = 4e5, idle_share = 0.6, launches = 10, instances = {} } }, kernels = {} }
    assert.equal([[

stage    count  time ms  GPU busy ms  idle %  launches  kernels/token  bound by
prefill      2     2.50         1.00    60.0     1,235                 launch
· sam        2     1.00         0.40    60.0        10

bundle: tmp/x
]], printed(function(ui) ui.finish(ended(results)) end))
  end)

  it("prints nothing when asked to be quiet", function()
    assert.equal("", printed(all, { quiet = true }))
  end)

  local function one_step(ui)
    ui.begin "counters"
    ui.command { "ncu", "a b" }
    ui.output "==PROF== \27[1mConnected"
    ui.tick("counters", 1)
    ui.progress("counters", 2, "launch 1")
    ui.tick("counters", 3)
    ui.done("counters", 4, "one launch")
  end

  it("replaces the line of a step while time passes, on a terminal", function()
    local live = "\r\27[K  counters   %s"
    assert.equal("\r\27[K  counters   ..." .. live:format "   1.0 s   "
      .. live:format "   2.0 s   launch 1" .. live:format "   3.0 s   launch 1"
      .. "\r\27[K  counters      4.0 s   one launch\n", printed(one_step, {}, 80))
  end)

  it("shows commands and what they print when it is verbose", function()
    assert.equal([[
  counters
             $ ncu 'a b'
             | ==PROF== �[1mConnected
  counters      4.0 s   one launch
]], printed(one_step, { verbose = true }))
  end)
end)


describe("output.wrap", function()
  it("wraps lines at words, behind their indentation and number", function()
    local said = "1. a line that is wider than forty columns of a terminal\n"
      .. "   try: another line that is wider than forty columns\nshort"
    assert.equal([[
1. a line that is wider than forty
   columns of a terminal
   try: another line that is wider than
   forty columns
short]], output.wrap(said, 40))
    assert.equal(said, output.wrap(said, nil))
  end)
end)
