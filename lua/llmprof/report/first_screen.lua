-- What a reader sees first: how fast it is, what it could be, what is wrong, what to do
-- first, how far to trust it. As blocks.
local blocks = require "llmprof.report.blocks"
local findings = require "llmprof.report.findings"
local overhead = require "llmprof.analysis.latency.overhead"
local text = require "llmprof.text"
local words = require "llmprof.report.words"

local first_screen = {}

-- Moves on the first screen.
local MOVES = 3


-- ---- figures ----

local function tile(label, value, note)
  return { label = label, value = value, note = note }
end


local function spread(measured)
  if measured.p90_ns then
    return ("p50 %s, p90 %s"):format(words.ms(measured.p50_ns), words.ms(measured.p90_ns))
  end
  if not measured.p50_ns then return "of one value" end
  return ("p50 %s, at most %s"):format(words.ms(measured.p50_ns), words.ms(measured.max_ns))
end


-- Below a time: what it is under the profiler, where it is without, else its spread.
local function beside(figure)
  if figure.plain and figure.profiled then
    return words.ms(figure.profiled.mean_ns) .. " under the profiler"
  end
  return spread(figure.first)
end


local function label_of(name, figure)
  return figure.plain and name or name .. ", profiled"
end


local function rate_tile(figure)
  local rate, profiled = figure.first, figure.plain and figure.profiled
  local note = rate.batch and "batch " .. words.batch(rate.batch) or "batch not known"
  if profiled then
    note = ("%s; %s under the profiler"):format(note, text.number(profiled.mean, 1, ","))
  end
  return tile(label_of("throughput", figure), text.number(rate.mean, 1, ",") .. " tokens/s", note)
end


-- The figures that everybody asks for first, without the profiler where that was
-- measured; those that were not measured are not there. nil without any.
function first_screen.tiles(results)
  local latency, whole, list = overhead.latency_of(results), results.efficiency or {}, {}
  for _, key in ipairs { "ttft", "tpot" } do
    local figure = latency[key]
    if figure then
      list[#list + 1] = tile(label_of(key:upper(), figure), words.ms(figure.first.mean_ns),
        beside(figure))
    end
  end
  if latency.tokens_per_s then list[#list + 1] = rate_tile(latency.tokens_per_s) end
  for _, key in ipairs { "mfu", "mbu" } do
    local value = whole[key] and whole[key].value
    if value then
      list[#list + 1] = tile(whole.time_source
        and ("%s, %s"):format(key:upper(), whole.time_source) or key:upper(),
        text.number(value * 100, 2) .. " %", "all stages together")
    end
  end
  return #list > 0 and blocks.tiles { list = list } or nil
end


-- ---- what it could be ----

-- The stage in which most of the run's time goes, no part of another, and its time.
local function longest(results)
  local stage, taken, most = nil, nil, 0
  for _, one in ipairs(results.stages) do
    local time = not one.parent and one.wall and overhead.time_of(results, one)
    if time and time * one.wall.count > most then
      stage, taken, most = one, time, time * one.wall.count
    end
  end
  return stage, taken
end


-- What that stage would take if the GPU never waited, and what the hardware needs
-- for the model's work; nil where neither is known or there is nothing to win.
function first_screen.could_be(results)
  local stage, time = longest(results)
  local said, least = {}, stage and stage.efficiency and stage.efficiency.floor_ns
  if not stage then return nil end
  if stage.gpu_busy_ns > 0 and stage.gpu_busy_ns < time then
    said[1] = ("%s if the GPU never waited"):format(words.ms(stage.gpu_busy_ns))
  end
  if least and least.value and least.value > 0 and least.value < time then
    said[#said + 1] = ("%s at the limit of the hardware"):format(words.ms(least.value))
  end
  return #said > 0 and ("%s would take, instead of %s: %s."):format(stage.name, words.ms(time),
    table.concat(said, ", ")) or nil
end


-- ---- together ----

-- Without the line on the first move, which stands among the moves.
local function verdict_lines(results)
  local lines, trust = {}, nil
  for _, line in ipairs(findings.verdict(results)) do
    if line.head == "Trust:" then
      trust = line
    elseif line.head ~= "First move:" then
      lines[#lines + 1] = line
    end
  end
  return lines, trust
end


-- All of it.
function first_screen.blocks(results)
  local lines, trust = verdict_lines(results)
  local could = first_screen.could_be(results)
  if could then lines[#lines + 1] = { head = "It could be faster.", text = could } end
  return blocks.join(blocks.note(words.model(results)), first_screen.tiles(results),
    blocks.verdict { lines = lines }, findings.moves(results, MOVES),
    blocks.say({ { strong = trust.head }, " " .. trust.text }, "note"))
end


return first_screen
