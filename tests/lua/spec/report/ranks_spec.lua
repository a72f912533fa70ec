local ranks = require "llmprof.report.ranks"

describe("report of ranks", function()
  it("says that tables of steps are of what other figures leave out, too", function()
    local results = { ranks = { source = "ranges" }, repeats = { left_out = {
      { stage = "prefill", rep = 1, ns = 3.11e9, usual_ns = 57e6 },
      { stage = "decode", rep = 2, step = 1, ns = 9e6, usual_ns = 5e6 } } } }
    assert.equal("Steps are the ranges that the program marks. Left out of tables of "
      .. "steps, as of other figures: prefill of repeat 1 (3.11 s).",
      ranks.basis(results))
    results.repeats.left_out = nil
    assert.equal("Steps are the ranges that the program marks.", ranks.basis(results))
  end)
end)
