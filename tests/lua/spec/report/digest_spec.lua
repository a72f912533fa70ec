-- The digest of a run: what of its results is told, and in how many bytes.
local digest = require "llmprof.report.digest"
local document = require "llmprof.io.document"
local json = require "llmprof.json"
local results = require "tests.lua.support.results"


describe("a digest", function()
  local run = { id = "one", dir = "tmp/stage2/one", name = "one" }

  local function finding(rank, fields)
    local made = { rule = "rule" .. rank, title = "finding " .. rank, try = "try " .. rank,
      evidence = { { text = "seen " .. rank, source = "timeline" } }, confidence = "high" }
    for key, value in pairs(fields or {}) do made[key] = value end
    return made
  end

  local function made_of(fields)
    local made = results.full()
    for key, value in pairs(fields or {}) do made[key] = value end
    return made
  end

  local function decoded(made, most)
    return assert(json.decode((assert(digest.render("json", made, run, most or 1e6)))))
  end

  it("fits its schema, whatever was measured", function()
    assert.is_nil(document.check("digest", decoded(made_of())))
    local made = decoded(results.empty())
    assert.is_nil(document.check("digest", made))
    assert.equal(json.null, made.latency.tpot_ns)
    assert.equal(json.null, made.latency.profiled)
    assert.equal(json.null, made.trust.verdict)
    assert.equal(json.null, made.gpu.name)
    assert.same({}, made.stages)
  end)

  it("has the median of steps where their mean is that of a few", function()
    local latency = { tpot = { mean_ns = 5e6, p50_ns = 2.8e6, count = 90 } }
    assert.equal(2.8e6, decoded(made_of { latency = latency }).latency.tpot_p50_ns)
    assert.matches("TPOT 5.00 ms (half of the steps 2.80 ms or less)", digest.render("text",
      made_of { latency = latency }, run, 1e6), 1, true)
    latency.tpot.p50_ns = 4.5e6
    assert.equal(json.null, decoded(made_of { latency = latency }).latency.tpot_p50_ns)
  end)

  it("names rows by keys, and what has to go first", function()
    local made = decoded(made_of { advice = { findings = { finding(1, { stage = "decode" }),
      finding(2, { stage = "decode", after = { 1 }, gain_ns = 5, of_ns = 10, of = "timeline",
        assumption = "it works" }) }, abstained = {} } })
    assert.equal("rule1:decode", made.moves[1].key)
    assert.equal(json.null, made.moves[1].gain_ns)
    assert.same({ "rule1:decode" }, made.moves[2].after)
    assert.equal(5, made.moves[2].gain_ns)
    for _, kernel in ipairs(made.kernels) do
      assert.equal(kernel.stage .. ":" .. kernel.name, kernel.key)
    end
  end)

  it("leaves out what does not fit, and says how much", function()
    local list = {}
    for i = 1, 9 do list[i] = finding(i) end
    local given = made_of { advice = { findings = list, abstained = {} } }
    local whole = decoded(given)
    assert.equal(6, whole.left_out.moves)
    assert.equal(3, #whole.moves)
    local size, sizes = math.huge, {}
    while true do
      local text, least = digest.render("text", given, run, size - 1)
      if not text then
        assert.equal(#sizes > 0 and sizes[#sizes], least)
        break
      end
      assert.is_true(#text < size)
      size = #text
      sizes[#sizes + 1] = size
    end
    assert.is_true(#sizes >= 2)
    local short = decoded(given, #assert(digest.render("json", given, run, 1e6)) - 1)
    assert.is_nil(document.check("digest", short))
    assert.equal(#whole.kernels + whole.left_out.kernels, #short.kernels + short.left_out.kernels)
    assert.equal(#whole.stages + whole.left_out.stages, #short.stages + short.left_out.stages)
  end)

  it("sends nothing to a terminal that a file wrote", function()
    local text = digest.render("text", made_of { advice = { findings = {
      finding(1, { title = "red \27[31m" }) }, abstained = {} } }, run, 1e6)
    assert.is_nil(text:find("\27", 1, true))
  end)
end)
