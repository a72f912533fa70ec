-- Records of ranks for the specs of rules about them.
local support = require "tests.lua.support.advice"

local rank_record = {}


-- What a rule says of a record of ranks. more: other parts of results.
function rank_record.said(name, record, more)
  local given = { ranks = record, stages = { support.decode { steps = 1 } } }
  for key, value in pairs(more or {}) do given[key] = value end
  return support.said(name, support.results(given))
end


-- 90 decode steps of batch 8, nearly all in graphs.
function rank_record.steps(given)
  local group = { phase = "decode", count = 90, kernels = 200, graphed = 190, batch = 8,
    mean_ns = 3e6, interval_ns = 3.2e6, idle_ns = 0.1e6, ranks = { { rank = 0, count = 90,
      idle_ns = 0.1e6, interval_ns = 3.2e6, waiting_ns = 2e6 } } }
  for key, value in pairs(given or {}) do group[key] = value end
  return group
end


-- What a capture of vLLM on one rank says.
function rank_record.engine(given)
  local record = { source = "labels", engine = "vllm", ranks = { { rank = 0 } }, files = {},
    left_out = {}, stages = { rank_record.steps() }, steps = { rank_record.steps() },
    padded = {} }
  for key, value in pairs(given or {}) do record[key] = value end
  return record
end


return rank_record
