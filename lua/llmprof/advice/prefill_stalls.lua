-- Steps that prefill so much that decode stalls, or next to nothing for all weights.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "prefill_stalls", of_ranks = true }

-- A mixed step that takes this many times as long as a decode step is a stall.
local TIMES = 3

-- Steps in a row that prefill the same few tokens are chunks, and no prompts that are this short.
local IN_A_ROW = 16

-- Of the tokens from which on a step computes for as long as it reads the weights: few.
local FEW = 0.25

local CHUNKS = "chunks of prefill (vLLM: --max-num-batched-tokens, SGLang: "
  .. "--chunked-prefill-size, TensorRT-LLM: max_num_tokens)"

local BYTES = { bf16 = 2, fp16 = 2, fp8 = 1, int8 = 1 }


-- Tokens of a step from which on its matmuls take longer than reading the weights; nil where the
-- GPU's figures are not known.
local function turning_point(results)
  local hardware = results.hardware or {}
  local peak = hardware.peaks and hardware.peaks[hardware.format]
  local bytes = BYTES[hardware.format]
  if not (peak and bytes and hardware.memory) then return nil end
  return peak.per_s / hardware.memory.per_s * bytes / 2
end


-- The longest row of mixed steps of a rank that prefill the same: { count, prefilled, tokens }.
local function longest_row(record)
  local best, own = { count = 0 }, nil
  for _, step in ipairs(record.step_rows or {}) do
    local prefilled = step.phase == "mixed" and step.tokens
      and step.tokens - (step.generation or 0) or nil
    if not prefilled then
      own = nil
    elseif own and own.rank == step.rank and own.prefilled == prefilled then
      own.count = own.count + 1
    else
      own = { rank = step.rank, prefilled = prefilled, tokens = step.tokens, count = 1 }
    end
    if own and own.count > best.count then best = own end
  end
  return best
end


local function report_small(row, most, report)
  report.finding {
    stage = "mixed", title = evidence.say("steps prefill no more than %N{token} each",
      row.prefilled),
    evidence = { evidence.seen("%N steps in a row prefill %N{token} each while other requests "
      .. "decode, and read all weights for it", row.count, row.prefilled),
      evidence.note("hardware", "up to about %N tokens a step takes as long as reading the weights",
        math.floor(most)) },
    try = ("larger %s: requests come to their first token in fewer steps, each hardly longer")
      :format(CHUNKS),
  }
end


function rule.examine(results, report)
  local record = results.ranks
  if record.source ~= "labels" then return evidence.NO_STEPS end
  local row, most = longest_row(record), turning_point(results)
  if most and row.count >= IN_A_ROW and row.tokens <= FEW * most then
    report_small(row, most, report)
  end
  local groups = record.stages or {}
  local mixed = lists.find(groups, "phase", "mixed")
  local decode = lists.find(groups, "phase", "decode")
  if not (mixed and decode and mixed.interval_ns and decode.interval_ns) then
    return "no step prefills and decodes at once"
  elseif mixed.interval_ns < TIMES * decode.interval_ns then
    return evidence.say("mixed steps take %T, decode steps %T", mixed.interval_ns,
      decode.interval_ns)
  end
  local notes = { evidence.seen("%N steps also prefill and take %T each; a decode step takes %T",
    mixed.count, mixed.interval_ns, decode.interval_ns) }
  local stall = record.requests and record.requests.stall_ns
  if stall then
    notes[2] = evidence.seen("%T of the mean time per token go to them", stall)
  end
  report.finding {
    stage = "mixed", title = "prefill of other requests stalls decode", evidence = notes,
    try = ("smaller %s, where the time between tokens matters more than that to the first; or "
      .. "prefill on GPUs of its own"):format(CHUNKS),
  }
end


return rule
