-- Serving engines, and which of them wrote the ranges of a trace.
--
-- An engine is a file of this folder, a table:
--   name, title   "vllm", "vLLM"
--   framework     what it is written with: "pytorch" or "ggml" (optional)
--   step(tag)      what the tag of a range says of a step, nil when it is no step:
--                  { context, context_tokens, generation, generation_tokens, number,
--                  phase }: requests that are prefilled and decoded in it, their
--                  tokens, and the engine's own count of steps, each absent where the
--                  tag does not say; phase only where it says that and no counts
--   kernels        patterns of lower-case names of kernels that this engine alone
--                  has (optional)
--   marks          patterns of tags that this engine alone writes besides (optional)
--   page           path of its server's Prometheus page
--   figures        what that page calls the engine's own numbers:
--                  figure -> names, the first that is there counts; figures are those of
--                  `engine_metrics` in docs/metrics.schema.json (optional)
--   log(line)      what a line of its server's log says of such figures: { running, waiting,
--                  kv_use, prefix_hit_share }, each where it does, or { kv_tokens }, which the KV
--                  cache holds; nil of other lines (optional)
--   knobs          what to set where the GPU waits for the CPU: { graphs, where decode launches
--                  kernel by kernel; ahead, where it replays graphs }, with what is on by
--                  itself (optional)
--   categories     rules for kernels that mean something else in this engine than
--                  conf/categories.yaml says of them, of the same form (optional)
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local lists = require "llmprof.tables.lists"

local engines = {}


-- All engines, by name.
function engines.all()
  return lists.map(files.module_names "engines", function(name)
    return require("llmprof.engines." .. name)
  end)
end


-- The most of a log that is read.
local LOG_BYTES = 1 << 28

-- What a server's log says of its load, line by line, a list of what an engine's `log` gives; nil
-- where the file cannot be read or no engine knows a line of it. `place`: "found" for a log that
-- nobody named and that lies next to the trace; it stands in the list.
function engines.read_log(path, place)
  local info, list = fs.stat(path), { place = place }
  local said = info and info.size <= LOG_BYTES and fs.read(path)
  for line in (said or ""):gmatch "[^\n]+" do
    for _, engine in ipairs(engines.all()) do list[#list + 1] = engine.log and engine.log(line) end
  end
  return #list > 0 and list or nil
end


-- "prefill", "decode", "mixed", "draft", "empty", or nil where a step does not say.
function engines.phase_of(step)
  if step.phase then return step.phase end
  local context, generation = step.context, step.generation
  if not context or not generation then return nil end
  if context == 0 and generation == 0 then return "empty" end
  if context == 0 then return "decode" end
  return generation == 0 and "prefill" or "mixed"
end


-- What an engine makes of the tags: { engine, steps (by tag, with their phase), seen (how many tags
-- are its own) }.
local function read(engine, tags)
  local made = { engine = engine, steps = {}, seen = 0 }
  for _, tag in ipairs(tags) do
    local step = engine.step(tag)
    made.steps[tag] = step
    if step then step.phase = engines.phase_of(step) end
    if step or lists.any(engine.marks or {}, function(mark) return tag:find(mark) end) then
      made.seen = made.seen + 1
    end
  end
  return made
end


-- The engine that wrote most of the tags of a trace's ranges, each listed once, as of read; nil
-- when none did.
function engines.recognise(tags)
  -- no operators, each of whose ranges may have a tag of its own ("aten::mm, op_id = 12")
  local own = lists.filtered(tags, function(tag) return not tag:find "^[%a_][%w_]*::" end)
  local best, seen = lists.largest(lists.map(engines.all(), function(engine)
    return read(engine, own)
  end), "seen")
  return seen > 0 and best or nil
end


-- The first engine that has kernels of these names (lower case) of its own, nil where
-- none has.
function engines.of_kernels(names)
  return lists.filtered(engines.all(), function(engine)
    return lists.any(engine.kernels or {}, function(pattern)
      return lists.any(names, function(name) return name:find(pattern) end)
    end)
  end)[1]
end


-- The engine of that name, nil when there is none.
function engines.find(name) return lists.find(engines.all(), "name", name) end


return engines
