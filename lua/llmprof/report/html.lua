-- report.html: one page to look around in.
local body = require "llmprof.report.html.body"
local charts = require "llmprof.report.html.charts"
local document = require "llmprof.report.html.document"
local html = require "llmprof.base.html"
local json = require "llmprof.json"
local ranks = require "llmprof.report.ranks"
local rows = require "llmprof.report.rows"
local timeline = require "llmprof.report.html.timeline"
local words = require "llmprof.report.words"

local report = {}

local paragraph = body.paragraph


-- A table, or why there is none.
local function table_or(results, name, otherwise, options)
  local made = body.table(results, name, options)
  if made ~= "" then return made end
  return body.heading(options and options.title) .. paragraph(otherwise, "note")
end


-- ---- sections, each results and the charts' data -> HTML ----

local function stages(results, data)
  return table.concat {
    body.chart("categories", "GPU time of each stage by category of kernel", data.categories,
      data.built),
    table_or(results, "stages", words.no_rows(results)), paragraph(words.nesting(results), "note"),
    body.table(results, "cpu", { title = "What the CPU did" }),
    body.table(results, "categories", { title = "GPU time by category" }),
  }
end


local function latency(results, data)
  return table.concat {
    body.table(results, "latency"), paragraph(words.latency_basis(results), "note"),
    body.chart("tpot", "Histogram of the time per output token", data.tpot, data.built,
      "No histogram: results.json has fewer than two times per output token."),
    body.table(results, "repeats", { title = "Each repeat, profiled" }),
    table_or(results, "aggregates", words.no_rows(results), { title = "Stages" }),
    paragraph(words.totals(results), "note"),
  }
end


local function contradictions(results)
  local said = {}
  for i, wrong in ipairs(rows.contradictions(results)) do
    said[i] = ('<p class="warning"><b>Contradiction in %s:</b> %s (%s).</p>\n'):format(
      html.escape(wrong.label), html.escape(wrong.text), html.escape(words.inputs(wrong.inputs)))
  end
  return table.concat(said)
end


local function efficiency(results)
  local made = body.table(results, "efficiency")
  if made == "" then return paragraph(words.not_measured(results, "the model's cost"), "note") end
  return table.concat { made, contradictions(results), paragraph(words.basis(results), "note"),
    paragraph(words.peaks(results.hardware), "note"),
    paragraph(words.unknown_peaks(results), "note"), paragraph(words.hfu(results), "note") }
end


local function roofline(results, data)
  return table.concat {
    results.counters and paragraph(words.coverage(results), "note") or "",
    paragraph(words.padding(results), "note"),
    body.chart("roofline", "Roofline: FLOP per byte against TFLOP/s", data.roofline, data.built,
      words.not_measured(results, "counters")),
    paragraph(words.roofs(results), "note"),
    body.table(results, "ranges", { title = "Counters of whole ranges" }),
    table_or(results, "headroom", "No kernel was found.", { title = "Headroom" }),
    paragraph(words.headroom_waits(results), "note"),
  }
end


local function kernels(results)
  return table_or(results, "kernels", words.no_rows(results), { filter = true })
    .. body.table(results, "transfers", { title = "Copies" })
    .. body.table(results, "selection", { title = "Selected for counters" })
end


local function operators(results)
  return table_or(results, "operators", words.not_measured(results, "operators"),
    { filter = true })
end


local function trust(results)
  return table.concat {
    body.table(results, "integrity"),
    table_or(results, "overhead", words.no_overhead, { title = "What profiling cost" }),
    table_or(results, "missing", "Nothing that the recipe asked for.", { title = "Not measured" }),
    table_or(results, "abstained", "Every rule had the data it needs.",
      { title = "Rules that could not tell" }),
    table_or(results, "silent", "Every rule that had its data found something.",
      { title = "Rules that found nothing" }),
  }
end


-- Steps, ranks and collectives.
local function between_ranks(results)
  local pieces = { paragraph(ranks.verdict(results), "note"),
    paragraph(ranks.basis(results), "note") }
  for _, name in ipairs { "left_out", "ranks", "rank_stages", "steps" } do
    pieces[#pieces + 1] = body.table(results, name, { title = ranks.title(name) })
  end
  pieces[#pieces + 1] = paragraph(ranks.padding(results), "note")
  pieces[#pieces + 1] = paragraph(ranks.clients(results), "note")
  for _, name in ipairs { "requests", "collectives", "late", "layers", "rank_files" } do
    pieces[#pieces + 1] = body.table(results, name, { title = ranks.title(name) })
  end
  return table.concat(pieces)
end


local function sources(results)
  return paragraph(words.model(results)) .. paragraph(words.source(results))
    .. table_or(results, "devices", "The trace does not name its GPU.")
    .. paragraph(words.software(results), "note")
    .. paragraph(("Run %s of recipe %s, written by llmprof %s on %s."):format(results.run.id,
      results.run.recipe, results.run.llmprof, results.run.created), "note")
end


-- Those with a key are left out where `report` does not name it, those with a field
-- where results do not have it.
local sections = {
  { "findings", "What to do, in order", body.findings, key = "advice" },
  { "latency", "Latency", latency, key = "aggregates" },
  { "stages", "Per-Stage Timings", stages, key = "stages" },
  { "ranks", "Steps, ranks and collectives", between_ranks, field = "ranks" },
  { "efficiency", "MFU/MBU", efficiency, key = "mfu" },
  { "roofline", "Roofline and headroom", roofline, key = "roofline" },
  { "kernels", "Kernels", kernels, key = "kernels" },
  { "operators", "Operators", operators, key = "operators" },
  { "trust", "How far to trust it", trust },
  { "sources", "Where this comes from", sources },
}


-- ---- the page ----

local NO_CHARTS = "llmprof was built without Chart.js: charts are left out, all figures are in the "
  .. "tables. Debian's package is libjs-chart.js."


local function wanted(order, results)
  local keys, list = {}, {}
  for _, name in ipairs(order) do keys[name] = true end
  for _, section in ipairs(sections) do
    if (not section.key or keys[section.key]) and (not section.field or results[section.field]) then
      list[#list + 1] = section
    end
  end
  return list
end


local function navigation(list)
  local links = {}
  for i, section in ipairs(list) do
    links[i] = ('<a href="#%s">%s</a>'):format(section[1], html.escape(section[2]))
  end
  return ("<nav>%s</nav>\n"):format(table.concat(links, "\n"))
end


local function drawn(results)
  return { categories = charts.categories(results), roofline = charts.roofline(results),
    tpot = charts.tpot(results), built = document.chart_js() ~= nil }
end


-- order: names of sections, as configured by `report`; the page has an order of
-- its own.
function report.render(results, order)
  local data, list = drawn(results), wanted(order, results)
  local out = { ("<header>\n<h1>%s</h1>\n"):format(html.escape(words.title(results))),
    body.verdict(results), body.tiles(results), timeline.render(results), "</header>\n",
    navigation(list), "<main>\n",
    data.built and "" or paragraph(NO_CHARTS, "warning") }
  for _, section in ipairs(list) do
    out[#out + 1] = body.section(section[1], section[2], section[3](results, data))
  end
  out[#out + 1] = "</main>\n"
  return document.render {
    title = words.title(results) .. ": where the time goes",
    generator = "llmprof " .. results.run.llmprof,
    body = table.concat(out),
    data = { categories = data.categories or json.null, roofline = data.roofline or json.null,
      tpot = data.tpot or json.null },
  }
end


return report
