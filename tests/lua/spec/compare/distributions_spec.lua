local verdict = require "llmprof.compare.verdict"


-- Values as SciPy 1.17 gives them (stats.t, stats.f, stats.beta).
describe("llmprof.compare.verdict", function()
  it("has the quantiles of Student's t", function()
    for _, case in ipairs { { 1, 12.7062 }, { 2, 4.30265 }, { 3, 3.18245 }, { 4, 2.77645 },
      { 10, 2.22814 }, { 30, 2.04227 }, { 1000, 1.96234 }, { 1.5, 6.01666 } } do
      assert.near(case[2], verdict.t_quantile(0.05, case[1]), 1e-4, case[1])
    end
    assert.near(63.6567, verdict.t_quantile(0.01, 1), 1e-4)
  end)

  it("has the tails of Student's t", function()
    assert.equal(1, verdict.t_both_tails(0, 3))
    assert.near(0.5, verdict.t_both_tails(1, 1), 1e-12)
    assert.near(0.05, verdict.t_both_tails(4.302652729749464, 2), 1e-12)
    assert.near(0.0455, verdict.t_both_tails(2, 1e6), 1e-4)
    assert.equal(0, verdict.t_both_tails(math.huge, 2))
  end)

  it("has the tails of Fisher's F", function()
    assert.near(1, verdict.f_both_tails(1, 5, 5), 1e-12)
    assert.near(0.05, verdict.f_both_tails(647.789, 1, 1), 1e-6)
    assert.near(0.1, verdict.f_both_tails(19, 2, 2), 1e-12)
    assert.near(0.1, verdict.f_both_tails(1 / 19, 2, 2), 1e-12)
    assert.equal(0, verdict.f_both_tails(0, 2, 2))
    assert.equal(0, verdict.f_both_tails(math.huge, 2, 2))
    assert.equal(1, verdict.f_both_tails(0 / 0, 2, 2))
  end)

  it("has the beta distribution", function()
    assert.equal(0, verdict.beta(-1, 2, 3))
    assert.equal(1, verdict.beta(1, 2, 3))
    assert.near(0.6875, verdict.beta(0.5, 2, 3), 1e-14)
    assert.near(0.3, verdict.beta(0.3, 1, 1), 1e-14)
  end)
end)
