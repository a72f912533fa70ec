local fs = require "llmprof.fs"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

local function sh(script) return { "/bin/sh", "-c", script } end

-- A child that says "ready" and then ends on SIGTERM only.
local waiting = sh "echo ready; exec sleep 1000"

local function lines_of(argv, options)
  local got = {}
  options = options or {}
  options.on_line = function(line, stream)
    got[#got + 1] = { line, stream }
  end
  return got, assert(spawn.run(argv, options))
end

local function is_alive(pid)
  local stat = fs.read("/proc/" .. pid .. "/stat")
  return stat ~= nil and not stat:match "%) [ZX] "
end

describe("llmprof.spawn.run", function()
  it("gives the result", function()
    local result = assert(spawn.run(sh "exit 3"))
    assert.is_false(result.ok)
    assert.equal(3, result.code)
    assert.equal(3, result.status)
    assert.is_nil(result.signal)
    assert.is_false(result.timed_out)
    assert.is_nil(result.interrupted)
    assert.equal("integer", math.type(result.pid))
    assert.is_true(result.wall > 0)

    result = assert(spawn.run { "true" })
    assert.is_true(result.ok)
    assert.equal(0, result.code)

    result = assert(spawn.run(sh "kill -KILL $$"))
    assert.is_false(result.ok)
    assert.is_nil(result.code)
    assert.equal("SIGKILL", result.signal)
    assert.equal(137, result.status)
    assert.equal("notfound", select(3, spawn.run { "no-such-tool" }))
  end)

  it("delivers lines with their stream", function()
    local got = lines_of(sh "printf 'a\\nb\\r\\nc\\rd\\0e'")
    assert.same({ { "a", "stdout" }, { "b", "stdout" },
      { "c", "stdout" }, { "d\0e", "stdout" } }, got)
    assert.same({ { "x", "stderr" } }, lines_of(sh "echo x >&2"))
  end)

  it("writes files and delivers lines at once", function()
    local top = assert(fs.temp_dir "llmprof-test-")
    local got = lines_of(sh "printf 'a\\rb'; printf 'c' >&2",
      { stdout = top .. "/out", stderr = top .. "/err" })
    table.sort(got, function(x, y) return x[1] < y[1] end)
    assert.same({ { "a", "stdout" }, { "b", "stdout" }, { "c", "stderr" } }, got)
    assert.equal("a\rb", fs.read(top .. "/out"))
    assert.equal("c", fs.read(top .. "/err"))
    assert(spawn.run(sh "echo shorter; pwd", { stdout = top .. "/out", cwd = top }))
    assert.equal("shorter\n" .. fs.realpath(top) .. "\n", fs.read(top .. "/out"))
    assert(fs.remove_tree(top))
  end)

  it("changes the environment", function()
    local got = lines_of(sh "echo ${ADDED-unset} ${HOME-unset}",
      { env = { ADDED = "yes", HOME = false } })
    assert.same({ { "yes unset", "stdout" } }, got)
  end)

  it("ends a child that takes too long", function()
    local result = assert(spawn.run({ "sleep", "1000" }, { timeout = 0.05 }))
    assert.is_true(result.timed_out)
    assert.equal("SIGTERM", result.signal)
    assert.is_false(result.ok)
  end)

  it("ends what the child leaves behind, if asked", function()
    local got = lines_of(sh "sleep 1000 & echo $!", { kill_group = true })
    assert.is_false(is_alive(got[1][1]))
  end)

  it("ends daemons of the child, too, and names them, if asked", function()
    -- the substitution ends when sleep has been started
    local daemon = [[setsid sh -c 'sh -c "echo \$\$; exec sleep 1000 >/dev/null 2>&1" &']]
    local got, result = lines_of(sh(("echo $(%s)"):format(daemon)), { kill_orphans = true })
    assert.is_false(is_alive(got[1][1]))
    assert.same({ { pid = tonumber(got[1][1]), name = "sleep", lives = false } }, result.orphans)
    assert.same({}, assert(spawn.run { "true" }).orphans)
  end)

  it("stops the child when the callback returns false", function()
    local calls = 0
    local result = assert(spawn.run(waiting, {
      on_line = function()
        calls = calls + 1
        return false
      end,
    }))
    assert.equal("SIGTERM", result.signal)
    assert.equal(1, calls)
    assert.is_true(assert(spawn.run(sh "echo x", { on_line = function() return nil end })).ok)
  end)

  it("raises the callback's error when the child is gone", function()
    local pid
    local problem = {}
    local ok, err = pcall(spawn.run, sh "echo $$; exec sleep 1000", {
      on_line = function(line)
        pid = line
        error(problem)
      end,
    })
    assert.is_false(ok)
    assert.equal(problem, err)
    assert.is_false(is_alive(pid))
  end)

  it("does not let the callback yield", function()
    local thread = coroutine.wrap(function()
      return pcall(spawn.run, waiting, { on_line = coroutine.yield })
    end)
    local ok, err = thread()
    assert.is_false(ok)
    assert.equal("attempt to yield across a C-call boundary", err)
  end)

  it("may be called from a callback", function()
    local inner
    lines_of(sh "echo x", {})
    assert(spawn.run(sh "echo outer", {
      on_line = function(line)
        inner = lines_of { "echo", line, "inner" }
      end,
    }))
    assert.same({ { "outer inner", "stdout" } }, inner)
  end)
end)

describe("llmprof.spawn.start", function()
  it("runs in the background", function()
    local ready
    local process <close> = assert(spawn.start(waiting, {
      on_line = function(line) ready = line end,
    }))
    while not ready do assert.is_true(process:pump(10)) end
    assert.equal("ready", ready)
    assert.is_true(process:pump())
    assert.is_true(process:running())
    assert.is_true(process:signal "SIGTERM")
    local result = assert(process:wait())
    assert.equal("SIGTERM", result.signal)
    assert.equal(process:pid(), result.pid)
    assert.is_false(process:running())
    assert.is_false(process:pump(1))
    assert.same(result, process:wait())
    assert.same(result, process:stop())
    local ok, message, code = process:signal "SIGTERM"
    assert.same({ nil, "process " .. result.pid .. " has ended", "notfound" },
      { ok, message, code })
  end)

  it("stops, and kills what is closed or forgotten", function()
    local process = assert(spawn.start { "sleep", "1000" })
    assert.equal("SIGTERM", process:stop().signal)
    process:close()
    process:close()
    assert.has_error(function() process:running() end,
      "calling 'running' on bad self (process is closed)")

    process = assert(spawn.start { "sleep", "1000" })
    local pid = process:pid()
    process:close()
    assert.is_nil(fs.stat("/proc/" .. pid))

    process = assert(spawn.start { "sleep", "1000" })
    pid = process:pid()
    process = nil -- luacheck: ignore 311
    collectgarbage()
    collectgarbage()
    assert.is_nil(fs.stat("/proc/" .. pid))
  end)

  it("kills what ignores to be stopped", function()
    local ready = false
    local process <close> = assert(spawn.start(
      sh "trap '' TERM; echo ready; while :; do sleep 0.01; done",
      { grace = 0.05, on_line = function() ready = true end }))
    while not ready do assert.is_true(process:pump(10)) end
    local result = assert(process:stop())
    assert.equal("SIGKILL", result.signal)
    assert.is_false(result.timed_out)
  end)

  it("closes after an error in the callback", function()
    local process = assert(spawn.start(waiting, { on_line = function() error "no" end }))
    local pid = process:pid()
    assert.has_error(function() while process:pump(10) do end end)
    assert.is_nil(fs.stat("/proc/" .. pid))
    assert.has_error(function() process:pump() end,
      "calling 'pump' on bad self (process is closed)")
    process:close()
  end)

  it("does not let the callback pull the rug", function()
    local process, messages = nil, {}
    process = assert(spawn.start(waiting, {
      on_line = function()
        for _, name in ipairs { "pump", "wait", "stop", "close" } do
          local _, message = pcall(process[name], process)
          messages[#messages + 1] = message
        end
        process:signal "SIGTERM"
      end,
    }))
    assert.equal("SIGTERM", process:wait().signal)
    assert.equal(4, #messages)
    for _, message in ipairs(messages) do
      assert.matches("called from its own on_line, which can return false", message, 1, true)
    end
    process:close()
  end)
end)

describe("llmprof.spawn.which", function()
  it("finds programs", function()
    assert.matches("^/.*/sh$", spawn.which "sh")
    local path, message, code = spawn.which "no-such-tool"
    assert.is_nil(path)
    assert.matches("^no%-such%-tool: no such program in PATH", message)
    assert.equal("notfound", code)
  end)
end)

-- llmprof within llmprof: to signal the inner one while its child runs.
describe("llmprof.spawn within a program of its own", function()
  local top

  before_each(function() top = assert(fs.temp_dir "llmprof-test-") end)
  after_each(function() assert(fs.remove_tree(top)) end)

  local function start(script, out)
    assert(fs.write(top .. "/script.lua", script))
    local process = assert(spawn.start({ sys.executable(), "exec", top .. "/script.lua", top },
      { on_line = function(line) out[#out + 1] = line end }))
    while not out[1] do assert(process:pump(10)) end
    return process
  end

  it("forwards signals and says so", function()
    local out = {}
    local process <close> = start([[
      local result = require("llmprof.spawn").run(
        { "/bin/sh", "-c", "trap 'echo last words; exit 7' INT; echo ready;"
          .. "while :; do sleep 0.01; done" },
        { on_line = function(line) print(line) io.stdout:flush() end })
      print(result.interrupted, result.code)
    ]], out)
    process:signal "SIGINT"
    assert.equal(0, process:wait().code)
    assert.same({ "ready", "last words", "SIGINT\t7" }, out)
  end)

  it("knows how children end in a program that inherited SIGCHLD ignored", function()
    local lines = lines_of({ "env", "--ignore-signal=CHLD", sys.executable(), "-e",
      [[print(require "llmprof.spawn".run({ "sh", "-c", "exit 3" }).code)]] })
    assert.equal("3", lines[1][1])
  end)

  it("holds signals back when that is asked for", function()
    local out = {}
    local process <close> = start([[
      local spawn, sys = require "llmprof.spawn", require "llmprof.sys"
      local child = spawn.start({ "/bin/sh", "-c", "trap 'echo INT' INT; trap 'exit 7' TERM;"
        .. "echo ready; while :; do sleep 0.01; done" },
        { hold_signals = true, on_line = function(line) print(line) io.stdout:flush() end })
      while child:pump(0.05) do
        if child:interrupted() then sys.kill(child:pid(), "SIGTERM") end
      end
      local result = child:wait()
      print(result.interrupted, child:interrupted(), result.code)
    ]], out)
    process:signal "SIGINT"
    assert.equal(0, process:wait().code)
    assert.same({ "ready", "SIGINT\tSIGINT\t7" }, out)
  end)

  it("may end in a callback", function()
    local out = {}
    local process <close> = start([[
      require("llmprof.spawn").run({ "/bin/sh", "-c", "echo $$; exec sleep 1000" }, {
        on_line = function(line)
          print(line)
          os.exit(5, true)
        end,
      })
    ]], out)
    local result = process:wait()
    assert.equal(5, result.code)
    while is_alive(out[1]) do process:pump() end -- killed, but not waited for
  end)

  it("puts the host's handler back", function()
    local out = {}
    local process <close> = start([[
      assert(require("llmprof.spawn").run { "true" })
      print(pcall(function()
        print "ready"
        io.stdout:flush()
        while true do end
      end))
    ]], out)
    process:signal "SIGTERM"
    assert.equal(0, process:wait().code)
    assert.matches("^false\t.*interrupted$", out[2])
  end)

  it("lets a second one through to a script that hangs", function()
    local out = {}
    local process <close> = start([[
      print(pcall(require("llmprof.spawn").run,
        { "/bin/sh", "-c", "trap 'touch first' INT; echo; while :; do sleep 0.01; done" },
        {
          cwd = arg[1],
          on_line = function()
            print "ready"
            io.stdout:flush()
            while true do end
          end,
        }))
    ]], out)
    process:signal "SIGINT"
    while not fs.stat(top .. "/first") do assert.is_true(process:pump(0.01)) end
    process:signal "SIGINT"
    assert.equal(0, process:wait().code)
    assert.matches("^false\t.*interrupted$", out[2])
  end)
end)

describe("llmprof.spawn, misused,", function()
  local function misuse(message, ...)
    local args = table.pack(...)
    assert.has_error(function() spawn.run(table.unpack(args, 1, args.n)) end, message)
  end

  it("wants argv as a list of strings", function()
    misuse("bad argument #1 to 'run' (table expected, got string)", "ls -l")
    misuse("bad argument #1 to 'run' (argv is empty)", {})
    assert.same({ nil, "empty program name", "syntax" }, { spawn.run { "" } })
    misuse("bad argument #1 to 'run' ([2]: string expected, got number)", { "ls", 1 })
    misuse("bad argument #1 to 'run' ([2]: string expected, got nil)", { "ls", nil, "x" })
    misuse("bad argument #1 to 'run' (argv is no list without holes)", { "ls", [3] = "x" })
    misuse("bad argument #1 to 'run' (argv is no list without holes)", { "ls", cwd = "x" })
    misuse("bad argument #1 to 'run' (string with a NUL byte)", { "ls", "a\0b" })
  end)

  it("wants options of their types", function()
    local function option(message, options)
      misuse("bad argument #2 to 'run' (" .. message .. ")", { "true" }, options)
    end
    option("table expected, got string", "x")
    option("unknown option 'time_out'", { time_out = 1 })
    option("unknown option 'cwd|env'", { ["cwd|env"] = 1 })
    option("option names must be strings", { "x" })
    option("option 'stdout': string expected, got number", { stdout = 1 })
    option("option 'cwd': string with a NUL byte", { cwd = "a\0b" })
    option("option 'timeout': number expected, got string", { timeout = "1" })
    option("option 'timeout': more than 0 seconds expected", { timeout = 0 })
    option("option 'timeout': seconds, 0 or more, expected", { timeout = -1 })
    option("option 'grace': seconds, 0 or more, expected", { grace = 0 / 0 })
    option("option 'kill_group': boolean expected, got number", { kill_group = 1 })
    option("option 'on_line': function expected", { on_line = "x" })
    option("option 'env': table expected", { env = "A=b" })
    option("option 'env': names must be strings", { env = { "A=b" } })
    option("option 'env': A: string without NUL byte or false expected, got number",
      { env = { A = 1 } })
    option("option 'env': A: string without NUL byte or false expected, got string",
      { env = { A = "1\0" } })
    local _, message, code = spawn.run({ "true" }, { env = { ["A="] = "1" } })
    assert.equal("A=: not a name for an environment variable", message)
    assert.equal("syntax", code)
  end)

  it("wants signals it knows", function()
    local process <close> = assert(spawn.start { "true" })
    assert.has_error(function() process:signal "SIGNONE" end,
      "bad argument #1 to 'signal' (unknown signal 'SIGNONE')")
    assert.has_error(function() process:pump(-1) end,
      "bad argument #1 to 'pump' (seconds, 0 or more, expected)")
    assert.has_error(function() process.__gc(process) end)
  end)
end)
