local failure = require "tests.lua.support.failure"
local sweep = require "llmprof.compare.sweep"

local function labels(...)
  local list = {}
  for i, entry in ipairs(sweep.combinations { ... }) do list[i] = entry.label end
  return list
end

describe("llmprof.compare.sweep", function()
  it("makes every combination, the last setting varying fastest", function()
    assert.same({ "infer.batch=1 nsys=light", "infer.batch=1 nsys=deep", "infer.batch=4 nsys=light",
      "infer.batch=4 nsys=deep" }, labels("infer.batch=1,4", "capture=nsys", "nsys=light,deep"))
  end)

  it("gives each its words, a short label and a name", function()
    assert.same({
      words = { "capture=nsys", "~mode", "+x.y=2", "infer.batch=1" }, label = "x.y=2 infer.batch=1",
      short = "y=2 batch=1", id = "y-2_batch-1-b6f0a399",
    }, sweep.combinations({ "capture=nsys", "+x.y=1,2", "~mode", "infer.batch=1,4" })[3])
  end)

  it("takes commas in brackets and quotes for part of a value", function()
    assert.same({ "report=[stages,mfu]", "report=[advice]" }, labels "report=[stages,mfu],[advice]")
    assert.same({ "a='x,y'", "a=z" }, labels "a='x,y',z")
    assert.same({ "a={x: [1,2]}", "a=(3,4)" }, labels "a={x: [1,2]},(3,4)")
  end)

  it("names a run by all that is set", function()
    local function id(...) return sweep.combinations({ ... })[1].id end
    assert.equal(id("a=1,2", "b=3"), id("a=1,5", "b=3"))
    assert.not_equal(id("a=1,2", "b=3"), id("a=1,2", "b=4"))
    assert.matches("^a%-dir%-file%.txt%-%x%x%x%x%x%x%x%x$", id "a=/dir/file.txt,b")
    assert.equal(60 + 9, #id("a=" .. ("x"):rep(200) .. ",b"))
  end)

  for word, message in pairs {
    ["a=1,,2"] = "'a=1,,2': an empty value",
    ["a=1,"] = "'a=1,': an empty value",
    ["a=1,2,1"] = "'a=1,2,1': 1 is there twice",
    ["out=a,b"] = "sweep sets out itself",
    ["run.id=x"] = "sweep sets run.id itself",
    ["a=[1,2]"] = "nothing to vary: no setting has several values",
    ["--resume"] = "nothing to vary: no setting has several values",
  } do
    it("refuses " .. word, function()
      local said = failure(sweep.combinations, { word })
      assert.same({ "usage", message }, { said[1], said[2] })
    end)
  end
end)
