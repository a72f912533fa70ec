-- A run of a recorded capture, continued.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"

local STAGES = 'stages = { "prefill", "decode" }'


describe("--resume", function()
  local top = bundle.scratch(before_each, after_each)
  local home = os.getenv "LLMPROF_HOME"

  local function path(name) return ("%s/run/%s"):format(top(), name) end

  -- What ran again: "counters analyse". change(): what happens in between.
  local function again(change, words)
    bundle.run_small(top(), STAGES)
    change()
    local _, failure, said = bundle.run_small(top(), STAGES, words, true)
    assert.is_nil(failure)
    local ran = {}
    for _, line in ipairs(said) do ran[#ran + 1] = line:match "^done (.*)" end
    return table.concat(ran, " ")
  end

  local function edit(name, from, to)
    local text, count = assert(fs.read(path(name))):gsub(from, to, 1)
    assert.equal(1, count)
    assert(fs.write(path(name), text))
  end

  -- Written now, which is later than everything of the run.
  local function touch(name)
    local made = fs.stat(path "stakeholder_summary.md").mtime_ns
    local text = assert(fs.read(name))
    repeat assert(fs.write(name, text)) until fs.stat(name).mtime_ns > made
  end

  if home then return end -- modules from disk: always analysed again

  it("keeps all that is there", function()
    assert.equal("", again(function() end))
  end)

  it("starts over with other settings", function()
    assert.equal("plan tools timeline ranks export select counters operators analyse render",
      again(function() end, { "top_n.kernels=3" }))
  end)

  it("analyses again what another version found out, or what is broken", function()
    assert.equal("analyse render", again(function()
      edit("results.json", '"llmprof": "[^"]*"', '"llmprof": "0.0.1"')
    end))
    assert(fs.remove_tree(top() .. "/run"))
    assert.equal("analyse render", again(function()
      edit("results.json", '"stages": %[', '"stages": 5, "x": [')
    end))
  end)

  it("analyses again when the recipe was changed", function()
    assert.equal("analyse render", again(function() touch(top() .. "/small.lua") end))
  end)

  it("takes again what is gone, and what stands on it", function()
    assert.equal("counters analyse render", again(function()
      assert(fs.remove(path "ncu/raw.csv"))
    end))
    assert(fs.remove_tree(top() .. "/run"))
    assert.equal("operators analyse render", again(function()
      assert(fs.remove(path "workload/operators.json"))
    end))
    assert(fs.remove_tree(top() .. "/run"))
    assert.equal("render", again(function() assert(fs.remove(path "report.html")) end))
  end)

  it("analyses again when a file it read is newer", function()
    assert.equal("ranks analyse render", again(function() touch(path "workload/metrics.json") end))
  end)
end)
