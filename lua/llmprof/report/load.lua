-- What a report says of a load: what was sent and answered, what clients saw, the engine's
-- own numbers.
local blocks = require "llmprof.report.blocks"
local tabled = require "llmprof.report.tabled"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local load_section = {}

-- Less than this share of the planned rate was not held, of what comes not answered; a second
-- of requests or more says so.
local HELD, ANSWERED, MEANT_S = 0.95, 0.9, 1


local function rate(value) return text.number(value, 2) .. "/s" end


-- Was a rate not held that was sent for long enough to tell?
local function is_short(given)
  local planned, held = given.planned_per_s, given.held_per_s
  return planned and held and held < HELD * planned
    and given.completed + given.failed - 1 >= MEANT_S * planned
end


-- What a person should know before believing the latencies.
local function warnings(given)
  local list = {}
  local planned, held = given.planned_per_s, given.held_per_s
  if given.unread then list[1] = given.unread:sub(1, 1):upper() .. given.unread:sub(2) .. "." end
  if not given.requests then return list end
  if is_short(given) then
    list[#list + 1] = ("The rate was not held: %s were sent of %s planned."):format(rate(held),
      rate(planned))
  end
  local answered, possible = given.completed_per_s, given.unqueued_per_s
  if answered and possible and answered < ANSWERED * possible then
    list[#list + 1] = ("%s were sent and %s answered: requests queued up, and latencies grow "
      .. "with the length of the run."):format(rate(held), rate(answered))
  end
  local unsent = given.requests - given.completed - given.failed
  if unsent > 0 then
    list[#list + 1] = ("%s of %s requests were not sent: the server had ended."):format(
      text.count(unsent), text.count(given.requests))
  end
  for _, entry in ipairs(given.errors or {}) do
    list[#list + 1] = ("%s of %s requests failed: %s"):format(text.count(entry.count),
      text.count(given.requests), entry.text)
  end
  return list
end


local function goal(given)
  local slo = given.slo
  if not slo then return nil end
  local limits = {}
  if slo.ttft_ns then limits[#limits + 1] = "TTFT " .. words.ms(slo.ttft_ns) end
  if slo.tpot_ns then limits[#limits + 1] = "TPOT " .. words.ms(slo.tpot_ns) end
  return ("Good requests are within %s: %s of %s."):format(table.concat(limits, " and "),
    text.count(slo.met), text.count(given.requests))
end


local function page_note(engine)
  if not engine or not engine.complaint then return nil end
  return ("Of the engine's page %s looks failed: %s."):format(text.count(engine.failed or 0),
    engine.complaint)
end


function load_section.blocks(results)
  local given, list = results.load, {}
  for i, line in ipairs(given and warnings(given) or {}) do
    list[i] = blocks.say(line, "warning")
  end
  return blocks.join(list, tabled.section(results, "load", { bare = true }),
    blocks.note(given and goal(given)), tabled.section(results, "load_times"),
    tabled.section(results, "engine_metrics"), blocks.note(page_note(results.engine_metrics)))
end


return load_section
