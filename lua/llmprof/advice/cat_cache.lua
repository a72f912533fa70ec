-- A KV cache that cat copies for each token; as its shape changes, no graph can be captured.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "cat_cache", own_code = true, of_decode = true }

-- Joins per attention kernel from which on both keys and values are joined.
local PER_ATTENTION = 2

local is_join = evidence.named { "catarray" }


-- Writing the token in place takes a kernel, too, as long as a short one: only what joins take
-- beyond that comes back, and of short ones nothing. Nil then, else the change, with what it takes
-- for granted.
local function change_of(stage, joins, attention)
  local over = joins.ns / joins.calls - evidence.SHORT_NS
  if over <= 0 then return nil end
  return evidence.faster(stage, joins, over * PER_ATTENTION * attention.calls), evidence.say("two "
    .. "joins per attention are the cache's, writing in place takes %T, and attention reads no "
    .. "more than it does now", evidence.SHORT_NS)
end


local function found(results, stage, joins, attention)
  local cache = stage.cost and stage.cost.kv_read_bytes
  local changes, assumption = change_of(stage, joins, attention)
  return {
    title = ("%s re-concatenates the KV cache in every step"):format(stage.name),
    evidence = evidence.with_kernels({
      evidence.seen("%N joins of tensors for %N attention kernels per step, %T of a step",
        joins.calls / stage.steps, attention.calls / stage.steps, joins.ns / stage.steps),
      cache and evidence.note("model", "the cache is %B on average, which each step reads and "
        .. "writes once more", cache / stage.steps) or nil,
    }, joins, stage),
    try = "a static KV cache (" .. evidence.remedy(results,
      "transformers: cache_implementation=\"static\"; else ", "") .. "a tensor of the "
      .. "longest length, written in place at the token's position), so that a step can be "
      .. "captured",
    changes = changes,
    assumption = assumption,
    kernels = joins.ids,
  }
end


-- Joins, attention, and whether the joins are those of a cache.
local function joins_of(results, stage)
  local joins = evidence.kernels(results, stage, is_join)
  local attention = evidence.kernels(results, stage, evidence.is_attention)
  return joins, attention, attention.calls > 0 and joins.calls >= PER_ATTENTION * attention.calls
end


-- Ids of the joins that this rule tells of, as a set: other rules leave them to it.
function rule.kernels_of(results, stage)
  local joins, _, are_of_cache = joins_of(results, stage)
  return lists.set(stage.kernels_per_token and are_of_cache and joins.ids or {})
end


function rule.examine_stage(results, stage, report)
  local joins, attention, are_of_cache = joins_of(results, stage)
  if attention.calls == 0 then return "no attention kernel is known by its name" end
  if are_of_cache then report.finding(found(results, stage, joins, attention)) end
  return evidence.say("%N joins of tensors for %N attention kernels per step",
    joins.calls / stage.steps, attention.calls / stage.steps)
end


return rule
