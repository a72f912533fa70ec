-- report.html: what is in it, and that nothing in it can act.
local charts = require "llmprof.report.html.charts"
local digest = require "llmprof.digest"
local document = require "llmprof.report.html.document"
local text = require "llmprof.text"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local report = require "tests.lua.support.reports"
local results = require "tests.lua.support.results"

local HOSTILE = '</script><script>alert(1)</script><!--"\'&'


-- The page, as it is rendered from a file.
local function render(given, sections)
  return report("page", assert(json.decode(assert(json.encode(given)))), sections or { "all" })
end


local function finding(given)
  local made = { rule = "gemv", stage = "decode", title = "single vectors", try = "batch",
    evidence = { { text = "51 % of it", source = "timeline" } }, confidence = "low",
    kernels = { 1, 3 } }
  for key, value in pairs(given or {}) do made[key] = value end
  return made
end


local function with_finding(given)
  return results.full { advice = { findings = { finding(given) }, abstained = json.list {} } }
end


-- The contents of all elements of a name, with their attributes.
local function elements(page, name)
  local list, at = {}, 1
  while true do
    local _, open, attributes = page:find("<" .. name .. "([^>]*)>", at)
    if not open then return list end
    local close = assert(page:find("</" .. name .. ">", open, true))
    list[#list + 1] = { attributes = attributes, content = page:sub(open + 1, close - 1) }
    at = close
  end
end


local function policy(page)
  return (page:match 'http%-equiv="Content%-Security%-Policy" content="([^"]*)"'
    :gsub("&#39;", "'"))
end


describe("text in the page", function()
  it("lets no text become markup", function()
    assert.equal("&lt;a href=&quot;x&quot;&gt;&amp;amp; &#39;b&#39;",
      text.html [[<a href="x">&amp; 'b']])
    assert.equal("a b�", text.html "a\nb\1")
  end)

  it("keeps JSON inside its element, and the same", function()
    local made = document.json { name = HOSTILE }
    assert.is_nil(made:find "[<>&]")
    assert.equal(HOSTILE, json.decode(made).name)
  end)
end)


describe("the page's policy", function()
  it("names every script and the style by what is in them, and nothing else", function()
    local page = render(results.full())
    local wanted, scripts = {}, elements(page, "script")
    for _, script in ipairs(scripts) do
      if script.attributes == "" then
        wanted[#wanted + 1] = ("'sha256-%s'"):format(digest.base64(digest.sha256(script.content)))
      else
        assert.equal(' type="application/json" id="data"', script.attributes)
      end
    end
    assert.equal(#scripts - 1, #wanted)
    assert.equal(("default-src 'none'; script-src %s; style-src %s; base-uri 'none'; "
      .. "form-action 'none'"):format(table.concat(wanted, " "),
      document.source_of(elements(page, "style")[1].content)), policy(page))
  end)

  it("runs scripts that have each module which they require", function()
    local page = document.render { title = "", generator = "", body = "", data = {},
      events = "bytes", flames = true }
    local count = 0
    for _, script in ipairs(elements(page, "script")) do
      local modules = script.content:match "^startModules(.*)" or ""
      for name in modules:gmatch 'require%("(./[%w_]+)"%)' do
        count = count + 1
        assert.is_truthy(modules:find(('"%s": (module, require) =>'):format(name), 1, true), name)
      end
    end
    assert.is_true(count > 20)
  end)

  it("needs no style and no handler in an attribute", function()
    local page = render(with_finding())
    local markup = page:gsub("<script.-</script>", ""):gsub("<style.-</style>", "")
    assert.is_nil(markup:find "<[^>]+%sstyle=")
    assert.is_nil(markup:find "<[^>]+%son%l+=")
    assert.is_nil(markup:find "%ssrc=")
    assert.is_nil(markup:find 'href="[^#]')
  end)
end)


describe("the page's timeline", function()
  local function with_events(bytes, given)
    return report("page", results.full(given), { "all" }, bytes)
  end

  it("is there with its data where there is some", function()
    if not document.d3() then return pending "llmprof was built without D3" end
    local page = with_events "some bytes"
    assert.is_truthy(page:find('id="events-data">' .. digest.base64 "some bytes" .. "</script>", 1,
      true))
    assert.is_truthy(page:find('<figure class="events" id="events" hidden>', 1, true))
    -- in the words of another maker, too
    page = with_events("some bytes",
      { environment = { devices = { { id = 0, name = "AMD Instinct MI300X" } } } })
    assert.is_truthy(page:find("ROCm", 1, true))
    for _, script in ipairs(elements(page, "script")) do
      if script.attributes == "" then
        assert.is_truthy(policy(page):find(document.source_of(script.content), 1, true))
      end
    end
  end)

  it("is not there without data, and without D3", function()
    assert.is_nil(with_events(nil):find("events-data", 1, true))
    local d3 = document.d3
    document.d3 = function() return nil end
    local ok, page = pcall(with_events, "some bytes")
    document.d3 = d3
    assert.is_true(ok)
    assert.is_nil(page:find("events-data", 1, true))
    assert.is_nil(page:find('<figure class="events"', 1, true))
    assert.is_truthy(page:find("llmprof was built without D3", 1, true))
  end)
end)


describe("report.html", function()
  it("explains the stage of no table by what another table says of its own", function()
    local explained = require "llmprof.report.sections"
    for name, declared in pairs(require "llmprof.report.columns") do
      local column = lists.find(declared, "key", "stage")
      if column and column.title == "stage" then
        assert.is_nil(explained.meaning(column), name)
      end
    end
  end)

  it("has the verdict and the sections in order, all folded", function()
    local page, headings = render(results.full()), {}
    for heading in page:gmatch "<summary><h2>([^<]+)</h2>" do headings[#headings + 1] = heading end
    assert.same({ "What to Do", "Aggregates", "Per-Stage Timings", "MFU/MBU", "Roofline",
      "Top Kernels", "Top Operators", "How Far to Trust It", "Not Measured",
      "Rules That Could Not Tell", "Environment", "Ask Further" }, headings)
    assert.is_truthy(page:find('<footer class="note"><p>Timeline: ', 1, true))
    assert.is_nil(page:find("<details[^>]* open"))
    assert.is_truthy(page:find("<h1>Model|X 1B on NVIDIA H200</h1>\n<p class=\"note\">Model: ", 1,
      true))
    assert.is_truthy(page:find("No rule found anything to change.</b> Prefill takes 5.0 ms",
      1, true))
  end)

  it("has three moves on the first screen, with gain and what comes before", function()
    local list = {}
    for i = 1, 4 do
      list[i] = finding { title = "find " .. i, gain_ns = 3e6, of_ns = 10e6, of = "timeline",
        try = "do " .. (i == 3 and 1 or i), spends = "gpu", assumption = "it works",
        after = i == 2 and { 1 } or nil }
    end
    local first = render(results.full { advice = { findings = list, abstained = json.list {} } })
      :match "<header>(.-)</header>"
    assert.is_truthy(first:find([[<li data-place="{&quot;kernels&quot;:[1,3],]]
      .. [[&quot;stage&quot;:&quot;decode&quot;}">]]
      .. [[<span class="rank">2</span><div><a href="#finding-2">find 2]]
      .. "</a><p>do 2<span class=\"if\">; gains if it works.</span></p></div>\n"
      .. [[<div class="gain"><span class="badge">3.00 ms</span> <p>of 10.00 ms, needs 1</p>]],
      1, true))
    assert.is_truthy(first:find("<p>as for 1<span", 1, true))
    assert.is_truthy(first:find("find 3", 1, true))
    assert.is_nil(first:find("find 4", 1, true))
  end)

  it("leaves out the sections that are not configured", function()
    local page = render(results.full(), { "kernels" })
    assert.is_nil(page:find("<h2>Top Operators</h2>", 1, true))
    assert.is_truthy(page:find("<h2>Top Kernels</h2>", 1, true))
  end)

  it("links a finding to the rows of its kernels", function()
    local page = render(with_finding())
    assert.is_truthy(page:find([[<p class="rows">Kernels <a href="#kernel-1" title="gemm 4">1</a> ]]
      .. [[<a href="#kernel-3" title="gemm 8">3</a></p>]], 1, true))
    assert.is_truthy(page:find('<tr id="kernel-3" data-place="{&quot;kernels&quot;:[3]}">'
      .. '<td class="n">3</td><td><code>gemm 8'
      .. "</code></td><td>decode</td><td>gemm</td>", 1, true))
    assert.is_truthy(page:find([[<li>51 % of it <span class="source">timeline</span></li>]], 1,
      true))
  end)

  it("leads from a finding about gaps to the longest of its stage", function()
    local page = render(results.full { gaps = {
      { stage = "prefill", start_ns = 5, ns = 90 }, { stage = "decode", start_ns = 200, ns = 80 },
      { stage = "decode", start_ns = 400, ns = 70 } },
      advice = { findings = { finding { rule = "long_gaps" } }, abstained = json.list {} } })
    assert.is_truthy(page:find('<div class="sides" data-place="{&quot;from&quot;:200,'
      .. "&quot;until&quot;:280}\">", 1, true))
  end)

  it("says what would fill what is missing", function()
    local page = render(results.full())
    assert.is_truthy(page:find("Not measured: it was &lt;not&gt; asked for. To fill this: "
      .. "operators=on.", 1, true))
    assert.is_truthy(page:find("model.arch is not set", 1, true))
  end)

  it("shows the largest kernels and counts the rest", function()
    local given = results.full()
    for i = 4, 600 do
      given.kernels[i] = { id = i }
      for key, value in pairs(given.kernels[3]) do
        given.kernels[i][key] = given.kernels[i][key] or value
      end
    end
    local page = render(given)
    assert.is_truthy(page:find('id="kernel-500"', 1, true))
    assert.is_nil(page:find('id="kernel-501"', 1, true))
    assert.is_truthy(page:find("The first 500 of 600; results.json has all", 1, true))
  end)

  it("says so when it was built without charts", function()
    local chart_js = document.chart_js
    document.chart_js = function() return nil end
    local ok, page = pcall(render, results.full())
    document.chart_js = chart_js
    assert.is_true(ok)
    assert.is_truthy(page:find("llmprof was built without Chart.js", 1, true))
    assert.is_nil(page:find("<canvas", 1, true))
    assert.equal(3, #elements(page, "script"))
  end)
end)


describe("the charts' data", function()
  it("has the time of each stage by category, idle last", function()
    local made = charts.categories { stages = {
      { name = "prefill", gpu_idle_ns = 3e6, categories = {
        { category = "gemm", gpu_time_ns = 1e6 }, { category = "norm", gpu_time_ns = 2e6 } } },
      { name = "clip", parent = "prefill", gpu_idle_ns = 1e6, categories = {
        { category = "gemm", gpu_time_ns = 5e5 } } },
      { name = "empty" } } }
    assert.same({ stages = { "prefill", "clip" }, series = {
      { name = "norm", ms = { 2, 0 } }, { name = "gemm", ms = { 1, 0.5 } },
      { name = "GPU idle", ms = { 3, 1 } } } }, made)
    assert.is_nil(charts.categories { stages = {} })
  end)

  it("puts what has no colour of its own together", function()
    local list = {}
    for i = 1, 10 do list[i] = { category = "c" .. i, gpu_time_ns = i * 1e6 } end
    local made = charts.categories { stages = {
      { name = "s", gpu_idle_ns = 0, categories = list } } }
    assert.equal(10, #made.series)
    assert.same({ name = "other", ms = { 3 } }, made.series[9])
    list[#list + 1] = { category = "other", gpu_time_ns = 50e6 }
    made = charts.categories { stages = { { name = "s", gpu_idle_ns = 0, categories = list } } }
    assert.same({ name = "other", ms = { 53 } }, made.series[9])
    assert.equal(10, #made.series)
  end)

  it("has the points of the roofline that have both of their figures", function()
    local made = charts.roofline {
      kernels = { { short_name = "gemm", category = "gemm" }, { short_name = "add" } },
      roofline = { roofs = { dram = { per_s = 4.8e12 }, l2 = { per_s = 1.2e13 },
        tensor = { per_s = 9.9e14 }, tensor_format = "bf16" }, left_out = 0,
        stages = { { stage = "decode", intensity = 1, rate = 5e10 }, { stage = "prefill" } },
        kernels = { { kernel = 1, stage = "decode", intensity = 60, l2_intensity = 20,
          rate = 2e13, unit = "tensor", share = 0.5 },
          { kernel = 2, stage = "decode", intensity = 1, l2_intensity = 0, rate = 1e12 },
          { kernel = 2, stage = "decode", intensity = 0, rate = 1 } } } }
    assert.same({ roofs = { dram = 4.8, l2 = 12, tensor = 990 }, tensor_format = "bf16",
      stages = { { name = "decode", stage = "decode", x = 1, y = 0.05 } },
      kernels = { { name = "gemm", id = 1, stage = "decode", x = 60, l2 = 20, y = 20,
        unit = "tensor", share = 0.5, category = "gemm" },
        { name = "add", id = 2, stage = "decode", x = 1, y = 1 } } },
      made)
    assert.is_nil(charts.roofline {})
  end)

  it("has bins of one width that hold every value", function()
    local function tpot(values)
      return charts.tpot { latency = { tpot = { values_ns = values } } }
    end

    assert.same({ counts = { 2, 0, 1, 0, 1 }, edges = { 1, 1.5, 2, 2.5, 3, 3.5 } },
      tpot { 1e6, 1.2e6, 2.1e6, 3.5e6 })
    assert.same({ counts = { 3 }, edges = { 2, 2 } }, tpot { 2e6, 2e6, 2e6 })
    assert.is_nil(tpot { 2e6 })
    assert.is_nil(charts.tpot {})
  end)
end)
