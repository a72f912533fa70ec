-- Steps, ranks and collectives as Markdown, from results.ranks and nothing else.
local markdown = require "llmprof.markdown"
local sections = require "llmprof.report.sections"
local tables = require "llmprof.base.tables"
local text = require "llmprof.text"

local ranks = {}

-- Rows of tables that may be long; `llmprof show` prints all.
local MOST = 12

local sources = { ranges = "Steps are the ranges that the program marks",
  inferred = "No range marks a step: they are inferred" }


-- What steps are here, in a sentence; nil without steps.
function ranks.basis(results)
  local record = results.ranks
  if not record.source then return nil end
  if record.source == "labels" then
    return ("Steps are those that %s marks in each worker; a step's GPU work counts for it "
      .. "wherever it runs."):format(record.engine)
  end
  return sources[record.source] .. "."
end


-- The verdict as one line of plain text, with what the late rank did; nil without.
function ranks.verdict(results)
  local made = results.ranks and results.ranks.verdict
  if not made then return nil end
  return made.text:sub(1, 1):upper() .. made.text:sub(2)
    .. (made.instead and (". Rank %d came late: %s"):format(made.rank, made.instead) or "") .. "."
end


-- What clients saw against the steps; nil without requests.
function ranks.clients(results)
  local made = results.ranks.requests
  if not made or not made.step_interval_ns then return nil end
  local said = ("Clients' TPOT is %s, the mean interval of the steps that made their tokens %s: "
    .. "%s %%"):format(text.duration(made.tpot.mean_ns), text.duration(made.step_interval_ns),
      text.number(made.difference * 100, 1))
  return said .. (made.agrees and ", which agrees"
    or "; the rest is the queue, detokenising and the network") .. (made.stall_ns
    and (". Of the interval %s are because steps prefill other requests, too"):format(
      text.duration(made.stall_ns)) or "") .. "."
end


-- Batches that ran in larger graphs; nil without.
function ranks.padding(results)
  local list = {}
  for i, entry in ipairs(results.ranks.padded or {}) do
    list[i] = ("%d as %d"):format(entry.batch, entry.as)
  end
  return #list > 0 and ("Batches that ran in the CUDA graph of a larger one: %s."):format(
    table.concat(list, ", ")) or nil
end


-- The heading of a table.
function ranks.title(name) return sections.find(name).title end


local function table_of(results, name, most)
  local section = sections.find(name)
  local list = section.rows(results)
  if #list == 0 then return "" end
  local shown = table.move(list, 1, math.min(#list, most or #list), 1, {})
  return ("### %s\n\n%s%s"):format(section.title, tables.render("md", section.columns, shown),
    #list > #shown and ("\n%d more: llmprof show RUN %s.\n"):format(#list - #shown, name) or "")
end


local function paragraph(said)
  return said and markdown.escape(said) .. "\n" or ""
end


-- The whole section of report.md.
function ranks.full(results)
  local record, pieces = results.ranks, {}
  local function add(piece)
    if piece ~= "" then pieces[#pieces + 1] = piece end
  end
  local said = ranks.verdict(results)
  add(said and ("**%s**\n"):format(markdown.escape(said)) or "")
  add(paragraph(ranks.basis(results)))
  add(table_of(results, "left_out"))
  if #record.ranks > 1 then add(table_of(results, "ranks")) end
  add(table_of(results, "rank_stages"))
  add(table_of(results, "steps", MOST))
  add(paragraph(ranks.padding(results)))
  add(table_of(results, "requests"))
  add(paragraph(ranks.clients(results)))
  add(table_of(results, "collectives"))
  add(table_of(results, "late", MOST))
  add(table_of(results, "layers", MOST))
  if #record.ranks > 1 then add(table_of(results, "rank_kernels", MOST)) end
  if #record.files > 1 then add(table_of(results, "rank_files")) end
  return table.concat(pieces, "\n")
end


-- The section of stakeholder_summary.md; "" for a single rank.
function ranks.short(results)
  local record = results.ranks
  if not record or #record.ranks < 2 then return "" end
  return table.concat({ "## Ranks\n", table_of(results, "ranks"),
    table_of(results, "rank_stages", MOST), "" }, "\n")
end


return ranks
