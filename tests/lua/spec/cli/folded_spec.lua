-- llmprof export --format folded: the stacks of CPU samples for other tools.
local bundle = require "tests.lua.support.bundle"
local child = require "tests.lua.support.child"
local fs = require "llmprof.fs"
local trace = require "llmprof.trace"

local SAMPLED = "tests/fixtures/cpu_samples/run.sqlite"

-- Samples by stack, out of a file of collapsed stacks, and all of them.
local function read(path)
  local stacks, sum = {}, 0
  for line in assert(fs.read(path)):gmatch "[^\n]+" do
    local stack, count = line:match "^(.+) (%d+)$"
    assert.is_nil(stacks[stack])
    stacks[stack], sum = tonumber(count), sum + tonumber(count)
  end
  return stacks, sum
end


describe("llmprof export --format folded", function()
  local top = bundle.scratch(before_each, after_each)
  local llmprof = child.caller(top, function() return {} end)

  it("writes each stack once, with its samples", function()
    local path = top() .. "/all.folded"
    local status, said = llmprof("export", "-f", "folded", "-o", path, SAMPLED)
    assert.equal(0, status)
    assert.truthy(said:find("304 samples in 8 stacks", 1, true))
    local stacks, sum = read(path)
    assert.equal(304, sum)
    assert.equal(89, stacks["__libc_start_call_main (libc.so.6);main (work);spin (work);"
      .. "leaf (work)"])
    local again = assert(assert(trace.open(path)):frame "cpu_samples")
    assert.equal(304, again:group { sum = { "weight" } }[1].weight.total)
  end)

  it("packs a file that ends in .gz", function()
    local path = top() .. "/all.folded.gz"
    assert.equal(0, (llmprof("export", "-f", "folded", "-o", path, SAMPLED)))
    assert.equal("\31\139", assert(fs.read(path)):sub(1, 2))
    local again = assert(assert(trace.open(path)):frame "cpu_samples")
    assert.equal(304, again:group { sum = { "weight" } }[1].weight.total)
  end)
end)
