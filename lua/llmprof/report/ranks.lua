-- Steps, ranks and collectives, from results.ranks and nothing else.
local blocks = require "llmprof.report.blocks"
local lists = require "llmprof.tables.lists"
local pictures = require "llmprof.report.pictures"
local sections = require "llmprof.report.sections"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

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
      .. "wherever it runs."):format(results.engine and results.engine.title or record.engine
        or "the engine")
  end
  if record.startup_steps then
    return ("%s, without %s of start-up, which are far slower than those after it."):format(
      sources[record.source], text.count(record.startup_steps))
  end
  return sources[record.source] .. "."
end


-- What stands for the KV cache on its way from the ranks that prefill; nil where one rank
-- does both.
local function kv_transfers(record)
  local made = record.kv_transfers
  if not made then return nil end
  local said = ("Rank %d prefills and rank %d decodes"):format(made.from_rank, made.to_rank)
  if not made.times then
    return said .. ". " .. words.sentence(made.unknown or "what the transfers took is not known")
  end
  return said .. (": from the end of a request's prefill to its first step there it takes %s on "
    .. "the mean, KV transfer and waiting."):format(text.duration(made.times.mean_ns))
end


-- The verdict as one line of plain text, with what the late rank did, and the bubbles of
-- a pipeline; nil without.
function ranks.verdict(results)
  local record, list = results.ranks or {}, {}
  local made = record.verdict
  if made then list[1] = words.sentence(made.text) end
  if made and made.instead then
    list[2] = ("Rank %d arrived late: %s."):format(made.rank, made.instead)
  end
  if record.pipeline then list[#list + 1] = words.sentence(record.pipeline.text) end
  list[#list + 1] = kv_transfers(record)
  return #list > 0 and table.concat(list, " ") or nil
end


-- What clients saw against the steps, and which requests have a prefill step of their own;
-- nil without requests.
function ranks.clients(results)
  local made = results.ranks.requests
  if not made or not made.step_interval_ns then return nil end
  local said = ("Clients' TPOT is %s, the mean interval of the steps that made their tokens %s: "
    .. "%s %%"):format(text.duration(made.tpot.mean_ns), text.duration(made.step_interval_ns),
      text.number(made.difference * 100, 1))
  local why = "; tokens that come faster than steps end come several at once, or are of other steps"
  if made.difference > 0 then why = "; the rest is the queue, detokenising and the network" end
  return said .. (made.agrees and ", which agrees" or why) .. (made.stall_ns
    and (". %s of the interval go to the prefill of other requests"):format(
      text.duration(made.stall_ns)) or "") .. ". " .. words.sentence(made.attributable)
end


-- Batches that ran in larger graphs; nil without.
function ranks.padding(results)
  local list = lists.map(results.ranks.padded or {}, function(entry)
    return ("%d as %d"):format(entry.batch, entry.as)
  end)
  return #list > 0 and ("Batches that ran in the CUDA graph of a larger one: %s."):format(
    table.concat(list, ", ")) or nil
end


-- The whole section, as blocks.
function ranks.blocks(results, view)
  local record = results.ranks
  local several, said = #record.ranks > 1, ranks.verdict(results)
  local function of(name, most)
    return sections.blocks(results, name, { most = not view.page and most or nil,
      note = sections.scope(results, sections.find(name)) })
  end
  return blocks.join(said and blocks.say { { strong = said } }, blocks.note(ranks.basis(results)),
    of "left_out", several and of "ranks", of "pipeline", of "rank_stages",
    pictures.steps(results), of("steps", MOST), blocks.note(ranks.padding(results)),
    of("idle_threads", MOST), of "requests", blocks.note(ranks.clients(results)),
    of("request_rows", MOST), of("kv_transfers", MOST), of("engine_looks", MOST),
    of "collectives", of("late", MOST), of("layers", MOST), several and of("rank_kernels", MOST),
    #record.files > 1 and of "rank_files")
end


return ranks
