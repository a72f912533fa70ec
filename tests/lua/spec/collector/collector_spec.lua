-- The collector from outside: its library, its plan, the spools it leaves.
local bundle = require "tests.lua.support.bundle"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local spawn = require "llmprof.spawn"
local spool = require "llmprof.spool"
local collector = require "llmprof.collector"
local sys = require "llmprof.sys"

describe("llmprof.collector", function()
  local top = bundle.scratch(before_each, after_each)

  it("finds a library that is named, and nothing else then", function()
    local path = top() .. "/lib.so"
    assert(fs.write(path, ""))
    assert.equal(fs.realpath(path), collector.find(path))
    local found, why = collector.find(top() .. "/none.so")
    assert.is_nil(found)
    assert.equal(top() .. "/none.so: not there", why)
    assert.equal("tool", failure(collector.ensure, top() .. "/none.so")[1])
  end)

  it("tells a program where all is", function()
    assert.same({ CUDA_INJECTION64_PATH = "/l.so", NVTX_INJECTION64_PATH = "/l.so",
      LLMPROF_COLLECTOR_DIR = "/d", LLMPROF_COLLECTOR_SOCKET = "/s" },
      collector.environment("/l.so", { folder = "/d", socket = "/s" }))
  end)

  it("tells Python the same, for engines that start their workers without our variables", function()
    local path = top() .. '/a "b".so'
    assert(fs.write(path, ""))
    local lines = {}
    local function said(argv)
      assert(spawn.run(argv, { on_line = function(line) lines[#lines + 1] = line end }))
      return table.remove(lines)
    end
    assert(fs.write(top() .. "/llmprof.pth",
      said { sys.executable(), "collect", "--print-pth", "--library", path } .. "\n"))
    assert.equal(fs.realpath(path), said { "env", "-i", "python3", "-c", "import os, site, sys; "
      .. "site.addsitedir(sys.argv[1]); print(os.environ['NVTX_INJECTION64_PATH'])", top() })
  end)

  it("writes lines of a plan, one each", function()
    assert.equal("units = plain:1 timeline\nsamples.hz = 10000\n",
      collector.plan_of_words { "units=plain:1 timeline", "samples.hz=10000" })
    assert.equal("usage", failure(collector.plan_of_words, { "units" })[1])
    assert.equal("usage", failure(collector.plan_of_words, { "a b=c" })[1])
    assert.equal("usage", failure(collector.plan_line, "launch", "k\nunits = skip")[1])
  end)

  it("puts spools together in the order in which processes began", function()
    for name, text in pairs { ["12-900.spool"] = "b", ["7-1000.spool"] = "c",
      ["99-2.spool"] = "a", ["5-1.spool"] = "", ["other.txt"] = "x" } do
      assert(fs.write(top() .. "/" .. name, text))
    end
    local target = top() .. "/run"
    assert.equal(3, collector.gather(top(), target))
    assert.equal("abc", fs.read(target))
  end)

  it("records a program that runs, and leaves it as it was", function()
    local bin = sys.executable():match "^(.*)/[^/]*$"
    local standin, until_there = bin .. "/../tests/collector/", top() .. "/until"
    if not fs.stat(standin .. "collector_victim") then pending "built without a collector" end
    local env = collector.environment(collector.ensure(), { socket = top() .. "/socket" })
    env.VICTIM_UNTIL, env.VICTIM_UNSEEN = until_there, "1"
    local child = assert(spawn.start({ standin .. "collector_victim", "exit", "10", "1" },
      { env = env }))
    local function attach(...)
      local lines = {}
      local result = assert(spawn.run({ sys.executable(), "attach", ... }, { env = env,
        on_line = function(line) lines[#lines + 1] = line end }))
      return result.code, table.concat(lines, "\n")
    end
    local file = top() .. "/w.spool"
    for _ = 1, 2 do
      local code, said = attach(tostring(child:pid()), "--seconds", "0.1", "--counters",
        "--no-report", "-o", file, "-p", "cupti=" .. standin .. "standin/libcupti.so")
      assert.equal(0, code, said)
      local found = assert(spool.open(file))
      assert.equal(2, #assert(found:frame "units"))
      assert.is_true(#assert(found:frame "counters") > 0)
    end
    -- windows of 0.4, 0.3 and 0.1 s to the first token; what was in them is copied aside
    bundle.shell(top() .. "/bin/curl", ([[
cd TOP || exit 1
n=$(($(cat asked 2>/dev/null) + 1)); echo $n >asked
[ $((n % 2)) = 1 ] || cp $(find . -path '*/window/*.spool') window-$((n / 2))
low=0 high=0
[ $n -lt 2 ] || high=1
[ $n -lt 4 ] || high=2
[ $n -lt 6 ] || low=1
name=vllm:time_to_first_token_seconds_bucket
echo "$name{le=\"0.2\"} $low"; echo "$name{le=\"0.4\"} $((low + high))"
echo "$name{le=\"+Inf\"} $((low + high))"
]]):gsub("TOP", top()))
    env.PATH = top() .. "/bin:" .. os.getenv "PATH"
    local watched, told = attach(tostring(child:pid()), "--seconds", "0.1", "--no-report", "-o",
      file, "-p", "cupti=" .. standin .. "standin/libcupti.so", "--when", "ttft_p50>200ms",
      "--windows", "3")
    assert.equal(0, watched, told)
    assert.matches("window 2: 300.0 ms, kept\nwindow 3: 100.0 ms$", told)
    assert.equal(fs.read(top() .. "/window-2"), assert(fs.read(file)))
    assert.not_equal(assert(fs.read(top() .. "/window-1")), fs.read(file))
    local other <close> = assert(spawn.start { "sleep", "60" })
    local code, said = attach(tostring(other:pid()), "-o", file)
    assert.equal(2, code)
    assert.matches("was started without the collector", said, 1, true)
    assert(fs.write(until_there, ""))
    assert.equal(4, child:wait().code)
  end)

  -- Processes that cannot write their spools, and tell who has this key.
  local function refused(key, count)
    local program = sys.executable():match "^(.*)/[^/]*$" .. "/../tests/c/make_spool"
    for _ = 1, count do
      assert(spawn.run({ program }, { env = { LLMPROF_COLLECTOR_DIR = top() .. "/nowhere",
        LLMPROF_COLLECTOR_REFUSALS = key } }))
    end
  end

  it("hears from processes that could write no spool", function()
    local heard <close> = collector.refusals()
    assert.same({}, heard:said(top()))
    refused(heard.key, 1)
    assert.matches("^process %d+ of user %d+ could not write its recording: No such file or "
      .. "directory$", heard:said(top())[1])
    assert.same({}, heard:said(top()))
    refused(heard.key, 8)
    local said = heard:said(top())
    assert.equal(6, #said)
    assert.equal("3 more processes could not write theirs", said[6])
  end)

  it("reads why a process could not write all of its spool", function()
    local heard <close> = collector.refusals()
    assert(fs.symlink("File too large", top() .. "/12-900.spool.lost"))
    assert(fs.symlink("not one of ours", top() .. "/x.spool.lost"))
    assert.same({ "process 12 could not write all of its recording: File too large" },
      heard:said(top()))
  end)

  it("puts no folder and nothing empty together", function()
    assert(fs.write(top() .. "/1-2.spool", "one"))
    assert(fs.write(top() .. "/3-4.spool", ""))
    assert(fs.mkdir(top() .. "/5-6.spool"))
    assert.equal(1, collector.gather(top(), top() .. "/all"))
    assert.equal("one", assert(fs.read(top() .. "/all")))
  end)

  it("believes only those who have the whole key", function()
    local heard <close> = collector.refusals()
    refused(heard.key:sub(1, 16) .. ("0"):rep(16), 2)
    assert.same({}, heard:said(top()))
  end)

  it("makes no file of no spool", function()
    assert.equal(0, collector.gather(top(), top() .. "/run"))
    assert.is_nil(fs.stat(top() .. "/run"))
  end)
end)
