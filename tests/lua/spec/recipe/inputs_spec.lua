local bundle = require "tests.lua.support.bundle"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local recipe = require "llmprof.recipe"


describe("llmprof.recipe.inputs", function()
  local top = bundle.scratch(before_each, after_each)

  local function file(contents)
    assert(fs.write(top() .. "/inputs.yaml", contents))
    return top() .. "/inputs.yaml"
  end

  local function refusal(contents)
    return failure(recipe.inputs, file(contents))[2]:sub(#top() + 2)
  end

  it("reads what a bundle lists", function()
    local digest = ("0a"):rep(32)
    assert.same({ { name = "b.png", bytes = 7, sha256 = digest }, { name = "a.png" } },
      recipe.inputs(file(("source: workload\nfiles:\n- name: b.png\n  bytes: 7\n  sha256: %s\n"
        .. "- a.png\n"):format(digest))))
  end)

  it("refuses what lists nothing", function()
    for _, contents in ipairs { "{}", "files: []", "files: 3", "[a]", "text" } do
      assert.equal("inputs.yaml: it lists no inputs", refusal(contents))
    end
  end)

  it("names the entry that is wrong", function()
    local form = ": a name is expected, or name and sha256, which has 64 hexadecimal digits"
    assert.equal("inputs.yaml: files[2]" .. form, refusal "files: [a, { bytes: 3 }]")
    assert.equal("inputs.yaml: files[1]" .. form, refusal "files: [3]")
    assert.equal("inputs.yaml: files[1]" .. form, refusal "files: [{ name: a, sha256: abc }]")
  end)

  it("refuses a file that is not there", function()
    assert.same({ "usage", "/nowhere: no such file",
      "inputs.yaml of a run is such a list: files: [{ name: ..., sha256: ... }]" },
      failure(recipe.inputs, "/nowhere"))
  end)
end)
