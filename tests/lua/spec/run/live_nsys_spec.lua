-- The timeline of a live run: how nsys is called, and what is made of every way
-- it can end. nsys and the workload are stand-ins.
local fs = require "llmprof.fs"
local live = require "tests.lua.support.live"

local REPEATS = "tests/fixtures/repeats/run.1.sqlite:tests/fixtures/repeats/run.2.sqlite"

-- What a run leaves out, so that it is quick.
local QUICK = { "counters=off", "operators=off" }


local function run(settings, env)
  local words = table.move(QUICK, 1, #QUICK, 1, {})
  return live.run(table.move(settings or {}, 1, #(settings or {}), #words + 1, words), env)
end


-- What of a folder must not stay, and is there.
local function hidden(folder)
  local list = {}
  for _, name in ipairs(assert(fs.list(folder))) do
    if name:sub(1, 1) == "." then list[#list + 1] = name end
  end
  return list
end


-- The options given to nsys profile, without those that no setting changes.
local function profile_options(...)
  local words = run({ ... }):call("nsys", "profile")
  local list = {}
  for i = 3, #words do
    if words[i]:sub(1, 2) ~= "--" then break end
    if not words[i]:find "^%-%-output=" and words[i] ~= "--force-overwrite=true" then
      list[#list + 1] = words[i]
    end
  end
  return list
end


describe("nsys profile", function()
  after_each(live.clean)

  it("is given the workload, word by word", function()
    local made = run { "device=cuda:1", "infer.max_new_tokens=7",
      "dataset.subset_filelist=a list.txt", "dataset.sampling.num_epochs=2",
      "dataset.sampling.num_samples_per_epoch=3", "dataset.sampling.randomize=true" }
    assert.equal(0, made.code)
    assert.same({ "nsys", "profile", "--trace=cuda,nvtx,osrt", "--sample=none", "--cpuctxsw=none",
      "--capture-range=none", "--cuda-graph-trace=node", "--force-overwrite=true",
      "--output=" .. made:path "nsys/run", "tests/standin/workload", "--device", "cuda:1",
      "--max-new-tokens", "7", "--subset-filelist", "a list.txt", "--num-epochs", "2",
      "--num-samples-per-epoch", "3", "--randomize", "true" }, made:call("nsys", "profile"))
    local words = made:call("nsys", "export")
    assert.matches("^%-%-output=" .. made:path("nsys"):gsub("%W", "%%%0")
      .. "/%.llmprof%-%x+/run%.sqlite$", table.remove(words, 7))
    assert.same({ "nsys", "export", "--type=sqlite", "--quiet=true", "--force-overwrite=true",
      "--include-blobs=true", made:path "nsys/run.nsys-rep" }, words)
    assert.same({ "workload", "under=nsys", "operators=", "register_only=", "--device", "cuda:1",
      "--max-new-tokens", "7", "--subset-filelist", "a list.txt", "--num-epochs", "2",
      "--num-samples-per-epoch", "3", "--randomize", "true" }, made:calls "workload"[1])
  end)

  it("has its options from the preset", function()
    assert.same({ "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--capture-range=none",
      "--cuda-graph-trace=node", "--wait=primary" }, profile_options "nsys=light")
    assert.same({ "--trace=cuda,nvtx,osrt,cublas,cudnn", "--sample=process-tree",
      "--cpuctxsw=process-tree", "--capture-range=none", "--cuda-graph-trace=node",
      "--cuda-memory-usage=true" }, profile_options "nsys=deep")
  end)

  it("ends a capture range as the preset says, and only where there is one", function()
    assert.same({ "--trace=cuda,nvtx,osrt", "--sample=none", "--cpuctxsw=none",
      "--capture-range=cudaProfilerApi", "--capture-range-end=stop", "--cuda-graph-trace=node" },
      profile_options "nsys.capture_range=cudaProfilerApi")
    assert.is_nil(live.option(profile_options("nsys.capture_range=cudaProfilerApi",
      "~nsys.capture_range_end"), "capture-range-end"))
  end)

  it("matches plain range names too", function()
    local made = run { "nsys.capture_range=nvtx", "nsys.nvtx_capture=prefill" }
    assert.equal("register_only=0", made:calls "workload"[1][4])
  end)
end)


describe("a range to capture", function()
  after_each(live.clean)

  local function refused(message, ...)
    local made = run { ... }
    assert.equal(2, made.code)
    assert.matches(message, made.output, 1, true)
    assert.same({}, made:calls "nsys")
    assert.same({}, made:calls "workload")
  end

  it("must be named before anything runs", function()
    refused("llmprof: nsys.capture_range=nvtx needs nsys.nvtx_capture",
      "nsys.capture_range=nvtx")
  end)

  it("must be asked for", function()
    refused("nsys.nvtx_capture is set, but nsys.capture_range is not nvtx",
      "nsys.nvtx_capture=decode")
  end)
end)


-- ---- what nsys leaves ----

describe("a report", function()
  after_each(live.clean)

  local function analysed(made, report)
    assert.equal(0, made.code, made.output)
    assert.equal("78 kernels, 2 repeats, stages prefill decode", made:step "timeline".note)
    assert.is_true(made:has(report))
    assert.same({}, hidden(made:path "nsys"))
  end

  it("is found on the line of Generated: too", function()
    analysed(run({}, { STANDIN_NSYS = "same_line" }), "nsys/run.nsys-rep")
  end)

  it("is fetched from /tmp", function()
    local folder = live.folder()
    analysed(run({}, { STANDIN_NSYS = "tmp", TMPDIR = folder }), "nsys/run.nsys-rep")
  end)

  it("may have its old suffix", function()
    analysed(run({}, { STANDIN_NSYS = "qdrep" }), "nsys/run.qdrep")
  end)

  it("is analysed although the workload failed, which fails the run", function()
    local made = run({}, { STANDIN_WORKLOAD = "late" })
    assert.equal(1, made.code)
    assert.equal("78 kernels, 2 repeats, stages prefill decode", made:step "timeline".note)
    assert.equal("failed", made:manifest().status)
    assert.equal("the workload under nsys: it ended with exit status 9", made:manifest().message)
    assert.is_nil(made.output:find("[========", 1, true), "nsys's progress is no error")
    assert.same({ "the workload under nsys: it ended with exit status 9" },
      made:step "timeline".notes)
    assert.is_true(made:has "report.md")
  end)

  it("is for its owner, which is said and written down", function()
    local made = run {}
    assert.equal(384, fs.stat(made:path "nsys/run.nsys-rep").mode)
    assert.same({ "nsys/run.nsys-rep" }, made:manifest().private)
    assert.matches("\nkeep to yourself: nsys/run.nsys-rep, which holds the workload's environment",
      made.output, 1, true)
  end)

  it("goes when it is not to be kept", function()
    local made = run { "nsys.keep_report=false" }
    assert.equal(0, made.code, made.output)
    assert.is_false(made:has "nsys/run.nsys-rep")
    assert.is_nil(made:manifest().private)
    assert.not_matches("keep to yourself", made.output, 1, true)
  end)

  it("is exported as it is when nobody wants it scrubbed", function()
    local made = run { "nsys.scrub=false" }
    assert.equal(0, made.code, made.output)
    assert.same({ "nsys/run.sqlite", "nsys/run.nsys-rep" }, made:manifest().private)
    assert.equal(384, fs.stat(made:path "nsys/run.sqlite").mode)
    assert.equal(fs.read "tests/fixtures/graphs/node.sqlite", made:read "nsys/run.sqlite")
  end)

  it("comes once per capture range, and all are analysed", function()
    local made = run({ "nsys.capture_range=nvtx", "nsys.nvtx_capture=decode",
      "nsys.capture_range_end=repeat:2", "repeats.skip_first=no" },
      { STANDIN_NSYS = "repeat", STANDIN_SQLITE = REPEATS })
    assert.equal(0, made.code, made.output)
    assert.equal("60 kernels, 2 repeats, stages decode, not in it: prefill",
      made:step "timeline".note)
    assert.same({ "2 reports, one per capture range, make one timeline" },
      made:step "timeline".notes)
    assert.is_true(made:has "nsys/run.1.nsys-rep" and made:has "nsys/run.2.nsys-rep")
    assert.same({ "nsys/run.1.nsys-rep", "nsys/run.2.nsys-rep" }, made:manifest().private)
    assert.same({}, hidden(made:path "nsys"))
    local decode = made:json "results.json".stages[1]
    assert.same({ 212558, 184933 }, { decode.instances[1].wall_ns, decode.instances[2].wall_ns })
    assert.same({ 30, 30 }, { decode.instances[1].kernels, decode.instances[2].kernels })
  end)

  it("is analysed although another was not imported", function()
    local made = run({ "nsys.capture_range=nvtx", "nsys.nvtx_capture=decode",
      "nsys.capture_range_end=repeat" }, { STANDIN_NSYS = "partly", STANDIN_SQLITE = REPEATS })
    assert.equal(0, made.code, made.output)
    assert.same({ "not imported, so not analysed: " .. made:path "nsys/run.3.qdstrm",
      "2 reports, one per capture range, make one timeline" }, made:step "timeline".notes)
  end)

  it("is good although the capture range ended the workload", function()
    local settings = { "nsys.capture_range=cudaProfilerApi",
      "nsys.capture_range_end=stop-shutdown" }
    local made = run(settings, { STANDIN_WORKLOAD = "ended" })
    assert.equal(0, made.code, made.output)
    assert.same({ "nsys ended the workload with the capture range "
      .. "(nsys.capture_range_end=stop lets it finish)" }, made:step "timeline".notes)
    settings[2] = "nsys.capture_range_end=stop"
    made = run(settings, { STANDIN_WORKLOAD = "ended" })
    assert.equal(1, made.code)
    assert.equal("the workload under nsys: it ended with exit status 143", made:manifest().message)
  end)
end)


describe("without a report", function()
  after_each(live.clean)

  -- Fails with this status and message; the bundle says how and with what.
  local function failed(code, message, settings, env)
    local made = run(settings, env)
    assert.equal(code, made.code, made.output)
    assert.matches("llmprof: " .. message, made.output, 1, true)
    local manifest, step = made:manifest(), made:step "timeline"
    assert.same({ "failed", message }, { manifest.status, manifest.message })
    assert.same({ "failed", message }, { step.status, step.message })
    assert.same({ "llmprof", "tests/standin/recipe.lua", "out=" .. made.out },
      { manifest.command[1], manifest.command[2], manifest.command[3] })
    assert.equal("skipped", made:step "select".status)
    assert.equal("done", made:step "render".status)
    assert.same({ "the timeline", message },
      { made:json "results.json".missing[1].what, made:json "results.json".missing[1].why })
    return made, step
  end

  it("the run fails, whatever the exit status of nsys", function()
    local made, step = failed(1, "nsys made no report", {}, { STANDIN_NSYS = "none" })
    assert.equal("Generated:", step.last_lines[#step.last_lines])
    assert.equal("the whole output is in nsys/log.txt", step.hint)
    assert.matches("workload: started\nworkload: done\n", made:read "nsys/log.txt", 1, true)
    assert.matches("nsys profile --trace=cuda,nvtx,osrt", made:read "nsys/cmd.txt", 1, true)
    assert.equal("profile", step.commands[1][2])
  end)

  it("says how the workload ended", function()
    failed(1, "nsys made no report; the workload: it ended with exit status 139", {},
      { STANDIN_NSYS = "none", STANDIN_WORKLOAD = "crash" })
  end)

  it("takes no empty file for one", function()
    failed(1, "nsys's report run.nsys-rep is empty or not there", {}, { STANDIN_NSYS = "empty" })
  end)

  it("explains a capture that was not imported", function()
    failed(1, "nsys captured, but could not import what it captured (run.qdstrm)", {},
      { STANDIN_NSYS = "qdstrm" })
  end)

  it("nothing was captured when the range never started", function()
    failed(4, "nothing was captured: the capture range (prefil) never started",
      { "nsys.capture_range=nvtx", "nsys.nvtx_capture=prefil" }, { STANDIN_NSYS = "missed" })
  end)

  it("knows nsys's complaints", function()
    local _, step = failed(1, "the disk is full", {}, { STANDIN_NSYS = "full" })
    assert.equal("free space, or point TMPDIR elsewhere", step.hint)
  end)

  it("ends a workload that hangs", function()
    local made = run({ "workload.timeout_s=3" }, { STANDIN_WORKLOAD = "hang",
      STANDIN_NSYS = "none" })
    assert.equal(1, made.code)
    assert.equal("nsys made no report; the workload: it ran past its time limit and was ended",
      made:manifest().message)
    assert.is_false(made:left_alive())
  end)

  it("fails when the export does", function()
    local _, step = failed(1, "nsys could not export nsys/run.nsys-rep", {},
      { STANDIN_EXPORT = "fail" })
    assert.matches("^Exportation error: File not found", step.last_lines[1])
    assert.matches("^try it by hand: %S+/nsys export %-%-type=sqlite ", step.hint)
  end)

  it("is asked for blobs again without them where it does not know the word", function()
    local made = run({}, { STANDIN_EXPORT = "old" })
    assert.equal(0, made.code, made.output)
    local asked = {}
    for _, words in ipairs(made:calls "nsys") do
      if words[2] == "export" then
        asked[#asked + 1] = live.option(words, "include-blobs") or "not asked"
      end
    end
    assert.same({ "true", "not asked" }, asked)
  end)

  it("fails when the export takes too long", function()
    local _, step = failed(1, "nsys could not export nsys/run.nsys-rep",
      { "nsys.export_timeout_s=1" }, { STANDIN_EXPORT = "hang" })
    assert.matches("/nsys: no answer within 1 s$", step.last_lines[1])
  end)


  it("loses no numbers of the workload with the timeline", function()
    local made = run({}, { STANDIN_NSYS = "empty", STANDIN_WORKLOAD = "served" })
    assert.equal(1, made.code)
    assert.equal("failed", made:step "timeline".status)
    local results = made:json "results.json"
    assert.equal(508e6, results.load.ttft.mean_ns)
    assert.equal("stand-in", results.model.name)
    local report = made:read "report.md"
    assert.matches("\n## Load\n", report, nil, true)
    assert.matches("1 of 3 requests failed: too busy", report, nil, true)
    assert.matches("| TTFT ", report, nil, true)
  end)
end)
