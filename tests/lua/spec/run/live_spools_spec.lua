-- A run that takes the spools of an engine which somebody else started with the collector
-- inside. The spool is one that a program made; the workload puts it there as the engine
-- would within the window.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local sys = require "llmprof.sys"

local PROGRAM = sys.executable():match "^(.*)/[^/]*$" .. "/../tests/c/make_spool"

describe("spools of an engine that runs already", function()
  local top = bundle.scratch(before_each, after_each)

  local function run(name, script, words)
    assert(fs.write(top() .. "/library.so", ""))
    bundle.shell(top() .. "/program", script)
    assert(fs.write(top() .. "/standin.lua", ([[return require("llmprof.recipe").recipe {
      name = "standin", stages = { { "prefill" }, { "decode" } },
      options = { ["server.spools"] = { "folder", "" } },
      workload = function() return { argv = { %q } } end }]]):format(top() .. "/program")))
    local given = { "capture=builtin", "tools.collector=" .. top() .. "/library.so",
      "overhead=off" }
    table.move(words, 1, #words, #given + 1, given)
    return bundle.run(top() .. "/standin.lua", top() .. "/" .. name, given)
  end

  -- What an engine's collector wrote in its window, as a file; and its folder, in which it
  -- has begun a spool.
  local function made()
    local ctx, failure = run("first", PROGRAM, { "operators=off" })
    assert.is_nil(failure)
    local folder = top() .. "/spools"
    assert(fs.mkdir(folder))
    assert(fs.write(folder .. "/7-1.spool", ""))
    return ctx.run:path "collector/run.spool", folder
  end

  it("are copied when the window has ended", function()
    local spool, folder = made()
    assert(fs.symlink("File too large", folder .. "/8-2.spool.lost"))
    local ctx, failure = run("run", ("cp %s %s/7-1.spool"):format(spool, folder),
      { "server.spools=" .. folder })
    assert.is_nil(failure)
    assert.matches("process 8 could not write all of its recording: File too large",
      assert(fs.read(ctx.run:path "manifest.json")), 1, true)
    assert.equal(assert(fs.read(spool)), assert(fs.read(ctx.run:path "collector/run.spool")))
    local results = assert(json.load(ctx.run:path "results.json"))
    assert.equal(2, #results.stages)
    for _, kernel in ipairs(results.kernels) do assert.is_nil(kernel.counters) end
    assert.is_not_nil(fs.stat(folder .. "/7-1.spool"))
  end)

  it("need a window, and the end of the workload is said", function()
    local _, folder = made()
    local _, failure = run("run", "true", { "server.spools=" .. folder })
    assert.same({ "nothing",
      "nothing was captured: the engine's window did not reach its collector" },
      { failure.kind, failure.message })
    _, failure = run("other", "exit 9", { "server.spools=" .. folder })
    assert.equal("no window in the spools; the workload: it ended with exit status 9",
      failure.message)
  end)

  it("are kept when the workload fails after it", function()
    local spool, folder = made()
    local ctx, failure = run("run", ("cp %s %s/7-1.spool; exit 9"):format(spool, folder),
      { "server.spools=" .. folder })
    assert.equal("the workload: it ended with exit status 9", failure.message)
    assert.is_true(ctx.run:has "results.json")
  end)

  it("are not there, or have a window already", function()
    local spool, folder = made()
    local empty = top() .. "/empty"
    assert(fs.mkdir(empty))
    for i, none in ipairs { empty, top() .. "/nowhere" } do
      local _, failure = run("none" .. i, "true", { "server.spools=" .. none })
      assert.equal("no spool in " .. none, failure.message)
    end
    assert(fs.copy(spool, folder .. "/8-2.spool"))
    local _, failure = run("twice", "true", { "server.spools=" .. folder })
    assert.equal(("the spools in %s have a window already"):format(folder), failure.message)
  end)
end)
