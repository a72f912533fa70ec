-- A recipe's whole chain without a GPU: llmprof RECIPE.lua --with-standins.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

describe("--with-standins", function()
  local top = bundle.scratch(before_each, after_each)

  local function run(...)
    local result = assert(spawn.run({ sys.executable(), ... }, { stdout = top() .. "/out",
      stderr = top() .. "/err", timeout = 60, env = { TMPDIR = top() } }))
    return result.code, assert(fs.read(top() .. "/err")), assert(fs.read(top() .. "/out"))
  end

  local function manifest(folder)
    return assert(json.load(folder .. "/manifest.json"))
  end

  it("goes through every step, and marks what it wrote", function()
    assert.equal(0, (run("new", "--from", "encoder", top() .. "/enc.lua")))
    local code, said = run(top() .. "/enc.lua", "--with-standins", "-q", "out=" .. top() .. "/run")
    assert.same({ 0, "llmprof: stand-ins played nsys, ncu and Python: no figure is of this "
      .. "workload\n" }, { code, said })
    local made = manifest(top() .. "/run")
    assert.equal("enc-standins", made.recipe)
    assert.same({ "stand-ins played nsys, ncu and Python: no figure is of this workload" },
      made.partial)
    for _, name in ipairs { "results.json", "report.md", "ncu/raw.csv", "nsys/run.sqlite" } do
      assert(fs.stat(top() .. "/run/" .. name), name)
    end
    for _, name in ipairs(assert(fs.list(top()))) do
      assert.is_nil(name:find "llmprof%-", "left behind: " .. name)
    end
  end)

  it("shows the commands of the tools it plays", function()
    assert.equal(0, (run("new", "--from", "causal_lm", top() .. "/lm.lua")))
    local code, _, said = run(top() .. "/lm.lua", "--with-standins", "--dry-run")
    assert.equal(0, code)
    assert.matches("bin/nsys profile ", said)
    assert.matches("bin/ncu ", said)
  end)

  it("finds a program that is not there", function()
    assert.equal(0, (run("new", "--from", "cuda", top() .. "/c.lua")))
    local code, said = run(top() .. "/c.lua", "--with-standins", "-q", "out=" .. top() .. "/run")
    assert.equal(1, code)
    assert.matches("no such program", said)
  end)

  it("resumes nothing", function()
    assert.equal(0, (run("new", "--from", "encoder", top() .. "/enc.lua")))
    local code, said = run(top() .. "/enc.lua", "--with-standins", "--resume", "latest")
    assert.equal(2, code)
    assert.matches("nothing is resumed with them", said)
  end)
end)
