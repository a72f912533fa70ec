-- What load generators say of a run, as the `load` of docs/metrics.schema.json: the results that
-- `vllm bench serve`, SGLang's bench_serving, GenAI-Perf and AIPerf write, and the table that the
-- first two print.
local engines = require "llmprof.engines"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"

local generators = {}

-- The most of a file that is read, and the part of it that tells what it is.
local MOST_BYTES, HEAD_BYTES = 1 << 28, 1 << 16

-- A percentile is known from this many requests on.
local LEAST = { p90 = 10, p99 = 100 }


-- A number that its double holds whole: sums and other units of it stay finite.
local function positive(value)
  return type(value) == "number" and value >= 0 and value <= 2 ^ 53 and value or nil
end


local function integer(value)
  value = positive(value)
  return value and math.tointeger(value)
end


-- A distribution in ms of what get(statistic) gives of "mean", "std", "min", "max", "p50",
-- "p90" and "p99"; nil without a mean. count: of requests; factor: to ms.
local function distribution(count, factor, get)
  local made = { count = count }
  for _, name in ipairs { "mean", "std", "min", "max", "p50", "p90", "p99" } do
    local value = positive(get(name))
    if value and (not LEAST[name] or (count or 0) >= LEAST[name]) then
      made[name .. "_ms"] = value * factor
    end
  end
  return made.mean_ms and made or nil
end


-- ---- vLLM, SGLang ----

local function list_of(value) return type(value) == "table" and value or {} end


-- In s; nil of what is no list of times.
local function sum_of(times)
  local sum = type(times) == "table" and 0 or nil
  for _, s in ipairs(list_of(times)) do
    if not positive(s) then return nil end
    sum = sum + s
  end
  return sum
end


-- Requests of vLLM's --save-detailed: lists side by side, in s. Those that failed have a text.
-- nil where the lists lack one that was answered.
local function vllm_requests(said)
  if type(said.ttfts) ~= "table" or type(said.itls) ~= "table" then return nil end
  local lengths, prompts = list_of(said.output_lens), list_of(said.input_lens)
  local errors, list = list_of(said.errors), json.list {}
  for i, ttft in ipairs(said.ttfts) do
    local tokens, between = integer(lengths[i]), sum_of(said.itls[i])
    local failed = type(errors[i]) == "string" and errors[i] ~= ""
    if not failed and positive(ttft) and between and tokens and tokens > 0 then
      local prompt = integer(prompts[i])
      list[#list + 1] = { ttft_ms = ttft * 1e3, ms = (ttft + between) * 1e3, tokens = tokens,
        tpot_ms = tokens > 1 and between * 1e3 / (tokens - 1) or nil,
        prompt_tokens = prompt and prompt > 0 and prompt or nil }
    end
  end
  return #list > 0 and #list == said.completed and list or nil
end


-- Times in the results of one that prints "Serving Benchmark Result": "mean_ttft_ms".
local SERVING = { ttft = { "ttft" }, tpot = { "tpot" }, answer = { "e2el", "e2e_latency" } }

local function of_serving(said)
  local completed, failed = integer(said.completed), integer(said.failed)
  local per_s, seconds = positive(said.request_throughput), positive(said.duration)
  if not positive(said.completed) or not per_s then return nil end
  local made = { kind = "command", generator = said.total_output_tokens_retokenized ~= nil
      and "SGLang bench_serving" or "vllm bench serve", completed = completed, failed = failed,
    requests = completed and failed and completed + failed or nil,
    duration_s = seconds, completed_per_s = per_s,
    tokens_per_s = positive(said.output_throughput) }
  local prompt = positive(said.total_input_tokens)
  if prompt and seconds and seconds > 0 then made.prompt_tokens_per_s = prompt / seconds end
  for key, names in pairs(SERVING) do
    for _, name in ipairs(names) do
      made[key] = made[key] or distribution(completed, 1, function(of)
        return said[("%s_%s_ms"):format(of == "p50" and "median" or of, name)]
      end)
    end
  end
  return made, vllm_requests(said)
end


-- What the table in a log calls what results call so; "Mean TTFT (ms)" is mean_ttft_ms.
local LABELS = {
  ["Successful requests"] = "completed", ["Failed requests"] = "failed",
  ["Benchmark duration (s)"] = "duration", ["Request throughput (req/s)"] = "request_throughput",
  ["Output token throughput (tok/s)"] = "output_throughput",
  ["Total input tokens"] = "total_input_tokens",
  ["Total generated tokens (retokenized)"] = "total_output_tokens_retokenized",
}


-- The lines "label: value" of the table.
local function of_serving_table(body)
  local said = {}
  for label, value in body:gmatch "([^\n:]+):%s+([%d.]+)[^\n]*" do
    label = label:match "^%s*(.-)%s*$"
    local times = label:match "^(.*) %(ms%)$"
    local key = LABELS[label] or times and times:lower():gsub(" ", "_") .. "_ms"
    if key then said[key] = tonumber(value) end
  end
  return of_serving(said)
end


-- ---- GenAI-Perf, AIPerf ----

local NVIDIA = { ttft = "time_to_first_token", tpot = "inter_token_latency",
  answer = "request_latency" }
local TO_MS = { ns = 1e-6, us = 1e-3, ms = 1, s = 1e3, sec = 1e3 }


local function of_nvidia(said)
  local function given_of(metric) return list_of(said[metric]) end
  local function average(metric) return positive(given_of(metric).avg) end
  if not given_of "time_to_first_token".avg and not given_of "request_latency".avg then
    return nil
  end
  local count = integer(average "request_count")
  local made = { kind = "command", completed = count,
    generator = list_of(said.input_config).endpoint and "AIPerf" or "GenAI-Perf",
    completed_per_s = average "request_throughput",
    tokens_per_s = average "output_token_throughput" }
  for key, metric in pairs(NVIDIA) do
    local given = given_of(metric)
    local factor = TO_MS[given.unit]
    made[key] = factor and distribution(count, factor, function(of)
      return given[of == "mean" and "avg" or of]
    end)
  end
  local length = average "input_sequence_length"
  if length and made.completed_per_s then
    made.prompt_tokens_per_s = length * made.completed_per_s
  end
  return made
end


-- ---- files ----

-- Words of the head of a JSON file, one of which each of these writes.
local IN_JSON = { '"request_throughput"', '"time_to_first_token"', '"request_latency"' }

-- What begins the table in a log.
local TABLE = "= Serving Benchmark Result ="

local DIFFERENT = "%d results of load generators in it: keep that of the traced run"
local UNREAD = "it names figures of a load generator, and none could be read"


-- One JSON, or one a line as SGLang adds them. Python's Infinity and NaN, which JSON has not, are
-- null; texts change, too, which nobody reads here.
local function read_json(body)
  for _, word in ipairs { "%-?Infinity", "NaN" } do
    body = body:gsub("([:,%[]%s*)" .. word, "%1null")
  end
  local said = json.decode(body)
  if said then return said end
  local list = {}
  for line in body:gmatch "[^\n]+" do
    local one = json.decode(line)
    if type(one) ~= "table" then return nil end
    list[#list + 1] = one
  end
  if #list > 1 then return nil, DIFFERENT:format(#list) end
  return list[1]
end


local function of_json(body)
  local said, why = read_json(body)
  if type(said) ~= "table" then return nil, nil, why or UNREAD end
  for _, read in ipairs { of_serving, of_nvidia } do
    local load, requests = read(said)
    if load then return load, requests end
  end
  return nil, nil, UNREAD
end


local function of_log(body)
  local _, count = body:gsub(TABLE, "")
  if count == 0 then return nil end
  if count > 1 then return nil, nil, DIFFERENT:format(count) end
  return of_serving_table(body:sub((body:find(TABLE, 1, true))))
end


-- What a load generator wrote or printed, as metrics.json has it; nil where a file is none of
-- one's, and why where it cannot be used.
function generators.read(path)
  local info = fs.stat(path)
  if not info or info.type ~= "file" or info.size > MOST_BYTES then return nil end
  local file <close> = io.open(path, "rb")
  local head = file and file:read(HEAD_BYTES)
  local begins = head and head:find "^%s*[%[{]"
  local is_json = begins and lists.any(IN_JSON, function(word) return head:find(word, 1, true) end)
  local is_log = head and not begins and not head:find("\0", 1, true)
  if not is_json and not is_log then return nil end
  local body = fs.read(path)
  if not body then return nil end
  local load, requests, why
  if is_json then load, requests, why = of_json(body) else load, requests, why = of_log(body) end
  if not load then return nil, why end
  return { schema_version = 1, workload = load.generator, load = load,
    repeats = json.list { { index = 1, stages = {}, requests = requests } } }
end


-- What a file that no reader of traces knows is by what it holds: "load", of a load generator,
-- or "log", of an engine's server; nil of others, and why where it cannot be used.
function generators.document_of(path)
  local metrics, why = generators.read(path)
  if metrics then return "load" end
  if why then return nil, why end
  return path:find "%.log$" and engines.read_log(path) and "log" or nil
end


return generators
