-- llmprof ls, open and clean, on runs that were made up.
local bundle = require "tests.lua.support.bundle"
local clock = require "llmprof.io.clock"
local child = require "tests.lua.support.child"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local results = require "tests.lua.support.results"


describe("calendar", function()
  it("knows what time a timestamp is", function()
    for timestamp, seconds in pairs { ["1970-01-01T00:00:00Z"] = 0,
      ["2000-02-29T23:59:59Z"] = 951868799, ["2026-03-01T00:00:00Z"] = 1772323200,
      ["2100-12-31T12:00:00Z"] = 4133937600 } do
      assert.equal(seconds, clock.seconds(timestamp))
    end
    assert.is_nil(clock.seconds "yesterday")
    assert.is_nil(clock.seconds(nil))
  end)

  it("says how long ago something was", function()
    for seconds, said in pairs { [-3] = "0 s", [59] = "59 s", [60] = "1 min", [3599] = "59 min",
      [7200] = "2 h", [86400] = "1 d", [2000000] = "23 d" } do
      assert.equal(said, clock.age(seconds))
    end
  end)
end)


describe("runs", function()
  local top = bundle.scratch(before_each, after_each)
  local llmprof = child.caller(top, function()
    return { cwd = top(), env = { DISPLAY = false, WAYLAND_DISPLAY = false } }
  end)

  -- A run of a day in January, with a file of 1000 bytes.
  local function make_run(id, day, fields)
    local manifest = { schema_version = 1, run_id = id, recipe = "r", status = "done",
      started = ("2026-01-%02dT00:00:00Z"):format(day), steps = json.list {} }
    for key, value in pairs(fields or {}) do manifest[key] = value end
    local dir = top() .. "/tmp/stage2/" .. id
    assert(fs.mkdirs(dir))
    assert(fs.write(dir .. "/manifest.json", assert(json.encode(manifest))))
    assert(fs.write(dir .. "/kernels.md", ("x"):rep(1000)))
    return dir
  end

  local function make_runs(count)
    for i = 1, count do make_run("run" .. i, i) end
    assert(fs.symlink("run" .. count, top() .. "/tmp/stage2/latest"))
  end

  -- Names of the folders that are left.
  local function left()
    return table.concat(fs.list(top() .. "/tmp/stage2"), " ")
  end

  describe("ls", function()
    -- A distribution, or with a total a wall time, of one.
    local function once(ns, total)
      return { count = 1, mean_ns = ns, min_ns = ns, max_ns = ns, total_ns = total }
    end

    local function write_results(dir, given)
      assert(fs.write(dir .. "/results.json", assert(json.encode(given))))
    end

    it("lists the newest first, with what was measured", function()
      make_run("old", 1, { status = "failed" })
      write_results(make_run("new", 2), results.empty { model = { name = "M" },
        latency = { ttft = once(1500000) },
        stages = { { name = "decode", instances = json.list {}, wall = once(2000000, 2000000),
          gpu_busy_ns = 0, gpu_idle_ns = 2000000,
          gpu_time_ns = 0 } } })
      local code, out, err = llmprof("ls", "-f", "csv")
      assert.same({ 0, [[
id,recipe,model,ttft_ns,tpot_ns,decode_ns,status,started
new,r,M,1500000,,2000000,done,2026-01-02T00:00:00Z
old,r,,,,,failed,2026-01-01T00:00:00Z
]], "" }, { code, out, err })
      assert.matches("^run  recipe  model  TTFT ms  TPOT ms  decode ms  status  age\n"
        .. "new  r       M         1%.50 +2%.00  done    %d+ d\n", select(2, llmprof "ls"))
    end)

    it("says when there is none, and which manifest is broken", function()
      assert.same({ 0, "llmprof: no runs in tmp/stage2\n" },
        { (llmprof "ls"), (select(3, llmprof "ls")) })
      assert(fs.write(make_run("bad", 1) .. "/manifest.json", "{"))
      local code, out, err = llmprof("ls", "-f", "csv")
      assert.equal(0, code)
      assert.matches("\nbad,,,,,,unreadable,\n", out)
      assert.matches("^llmprof: tmp/stage2/bad/manifest.json:1", err)
    end)

    it("lists a run whose results are damaged, and says where", function()
      write_results(make_run("bad", 1), results.empty { stages = "none" })
      assert.same({ 0, [[
id,recipe,model,ttft_ns,tpot_ns,decode_ns,status,started
bad,r,,,,,done,2026-01-01T00:00:00Z
]], 'llmprof: tmp/stage2/bad/results.json: $.stages: array expected, got "none"\n' },
        { llmprof("ls", "-f", "csv") })
    end)
  end)

  describe("open", function()
    it("prints the path of the best report", function()
      local dir = make_run("one", 1)
      assert.same({ 0, "tmp/stage2/one/kernels.md\n", "" }, { llmprof("open", "one") })
      assert(fs.write(dir .. "/report.html", "x"))
      assert.same({ 0, "tmp/stage2/one/report.html\n", "" }, { llmprof("open", "one") })
    end)

    it("says what to do without one", function()
      assert(fs.remove(make_run("one", 1, { status = "failed" }) .. "/kernels.md"))
      assert.same({ 1, "", "llmprof: tmp/stage2/one: no report: its status is 'failed'\n"
        .. "  continue it with the command in tmp/stage2/one/manifest.json and --resume one; "
        .. "llmprof ls lists the others\n" },
        { llmprof("open", "one") })
      assert.equal(2, (llmprof "open"))
      assert.equal(2, (llmprof("open", "none")))
    end)

    it("shows it on a desktop, and only prints when asked to", function()
      make_run("one", 1)
      local bin = top() .. "/bin"
      assert(fs.mkdir(bin))
      assert(fs.symlink("/bin/false", bin .. "/xdg-open"))
      local on_desktop = child.caller(top, function()
        return { cwd = top(), env = { DISPLAY = ":0", PATH = bin } }
      end)
      assert.same({ 1, "tmp/stage2/one/kernels.md\n", "llmprof: xdg-open could not show it\n"
        .. "  open it by hand: tmp/stage2/one/kernels.md\n" }, { on_desktop("open", "one") })
      assert.equal(0, (on_desktop("open", "one", "--print")))
      assert(fs.remove(bin .. "/xdg-open"))
      assert.matches("^llmprof: xdg%-open was not found\n", select(3, on_desktop("open", "one")))
      assert(fs.symlink("/bin/true", bin .. "/xdg-open"))
      assert.equal(0, (on_desktop("open", "one")))
    end)
  end)

  describe("clean", function()
    it("keeps the newest, and says what it frees", function()
      make_runs(4)
      local code, out = llmprof("clean", "--keep", "2", "--yes")
      assert.equal(0, code)
      assert.matches("^tmp/stage2/run1  %d.%d+ kB\ntmp/stage2/run2  %d.%d+ kB\n"
        .. "removed 2 runs, %d.%d+ kB\n$", out)
      assert.equal("latest run3 run4", left())
      assert.same({ 0, "nothing to remove\n", "" }, { llmprof "clean" })
    end)

    it("keeps the latest and what a process works on", function()
      make_runs(3)
      local busy = assert(fs.lock(make_run("busy", 1, { status = "running" })))
      make_run("dead", 1, { status = "running" })
      assert(fs.mkdirs(top() .. "/tmp/stage2/unborn/nsys"))
      assert(fs.remove(top() .. "/tmp/stage2/latest"))
      assert(fs.symlink("run1", top() .. "/tmp/stage2/latest"))
      assert.equal(0, (llmprof("clean", "--keep=0", "-y")))
      assert.equal("busy latest run1", left())
      busy:close()
    end)

    it("leaves alone what llmprof did not make", function()
      make_runs(1)
      make_run("copy", 1, { run_id = "other" })
      make_run("newer", 1, { schema_version = 2 })
      assert(fs.write(make_run("broken", 1) .. "/manifest.json", "{"))
      assert(fs.mkdirs(top() .. "/tmp/stage2/baselines/good"))
      assert(fs.mkdirs(top() .. "/tmp/stage2/notes"))
      local outside = make_run("../outside", 1)
      assert(fs.symlink(outside, top() .. "/tmp/stage2/linked"))
      assert.same({ 0, "nothing to remove\n", "" }, { llmprof("clean", "--keep=0", "--yes") })
      assert.equal("baselines broken copy latest linked newer notes run1", left())
      assert.is_not_nil(fs.stat(outside .. "/kernels.md"))
    end)

    it("asks, and removes nothing where nobody can answer", function()
      make_runs(2)
      local code, _, err = llmprof("clean", "--keep", "1")
      assert.equal("llmprof: there is no terminal to ask on\n  llmprof clean --yes does not ask\n",
        err)
      assert.equal(2, code)
      assert.equal("latest run1 run2", left())
      assert.equal(2, (llmprof("clean", "--keep=-1")))
    end)

    it("removes what is named, once, and the link to it", function()
      make_runs(3)
      local code, out = llmprof("clean", "run3", "latest", "run1", "-y")
      assert.equal(0, code)
      assert.matches("^tmp/stage2/run3  [^\n]+\ntmp/stage2/run1  [^\n]+\nremoved 2 runs", out)
      assert.equal("run2", left())
      code = llmprof("clean", "run2", "run9", "-y")
      assert.equal(2, code)
      assert.equal(2, (llmprof("clean", "run2", "--keep", "1", "-y")))
      assert.equal("run2", left())
    end)

    it("names nothing that a process works on", function()
      local busy = assert(fs.lock(make_run("busy", 1, { status = "running" })))
      local code, _, err = llmprof("clean", "busy", "-y")
      assert.same({ 1, "llmprof: tmp/stage2/busy: a process works on it\n"
        .. "  end that process first\n" }, { code, err })
      assert.equal("busy", left())
      busy:close()
    end)

    it("shows what it would do", function()
      make_runs(2)
      local code, out = llmprof("clean", "--keep=1", "--dry-run")
      assert.equal(0, code)
      assert.matches("^tmp/stage2/run1  [^\n]+\nwould remove 1 run, [^\n]+\n$", out)
      assert.equal("latest run1 run2", left())
    end)
  end)
end)
