local support = require "tests.lua.support.advice"


describe("advice capture_trust", function()
  local function said(verdict, ...)
    return support.said("capture_trust", support.results {
      integrity = { verdict = verdict, checks = { ... } } })
  end

  local ok = { name = "ranges", level = "ok", text = "fine" }

  it("comes before all others when records were lost", function()
    assert.equal([[
the capture cannot be taken at face value (no stage, confidence high)
- 10 launches, 4 without a kernel (integrity check launches)
try: capture a shorter range
blocking
]], said("poor", { name = "launches", level = "problem", text = "10 launches, 4 without a kernel",
      fix = "capture a shorter range" }, ok))
  end)

  it("tells of a stage that the profiler slowed down", function()
    assert.equal([[
some figures of the capture need a second look (no stage, confidence medium)
- decode is 45 % slower under the profiler than without it (integrity check inflation)
try: trace less (nsys=light)
]], said("fair", { name = "inflation", level = "warning", fix = "trace less (nsys=light)",
      text = "decode is 45 % slower under the profiler than without it" }))
  end)

  it("is silent about a good capture, and leaves clocks to another rule", function()
    assert.equal("", said("good", ok))
    assert.equal("", said("fair", { name = "clocks", level = "warning", text = "hot" }))
  end)
end)
