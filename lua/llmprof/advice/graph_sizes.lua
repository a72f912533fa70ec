-- Decode steps of a serving engine that no CUDA graph replays, or one of a larger batch.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "graph_sizes", of_ranks = true }

-- From these shares of the decode steps on.
local EAGER, PADDED = 0.05, 0.2


-- Most of decode's steps and of its norms' launches, where these tell of one batch.
local MOST = 0.8

-- The rows that decode's norms have at least, a block for each or for some of them; nil where they
-- are launched alike in no more than a part of the steps.
local function rows_of_norms(results)
  local stage, rows = evidence.find(results, "decode"), nil
  for _, kernel in ipairs(stage and stage.wall and evidence.kernels_of(results, stage) or {}) do
    for _, shape in ipairs(kernel.category == "norm" and kernel.shapes or {}) do
      if shape.calls >= MOST * kernel.calls and shape.grid[2] * shape.grid[3] == 1 then
        rows = math.min(rows or math.huge, shape.grid[1])
      end
    end
  end
  return rows
end


-- By batch the larger one whose graph its steps replay. steps: groups of decode's, `all` together.
-- A row that several blocks share is no row more.
local function larger_of(results, record, steps, all)
  local larger, rows = {}, rows_of_norms(results)
  for _, entry in ipairs(record.padded or {}) do larger[entry.batch] = entry.as end
  for _, group in ipairs(rows and steps or {}) do
    local batch = group.batch or 0
    if (group.graphed or 0) > 0 and group.count >= MOST * all and batch > 0 and rows > batch
      and rows % batch ~= 0 then
      larger[batch] = larger[batch] or rows
    end
  end
  return larger
end


local function report_eager(eager, count, all, engine, report)
  local batches = lists.sort(lists.map(eager, "batch"))
  report.finding {
    stage = "decode",
    title = count == all and "decode runs without CUDA graphs"
      or "some batches of decode lie outside the captured CUDA graphs",
    evidence = { evidence.seen("%N of %N decode steps launch their kernels one by one%s", count,
      all, #batches > 0 and ": batches " .. table.concat(batches, ", ") or "") },
    try = count == all and ("leave out what makes %s run eagerly (--enforce-eager, "
      .. "--disable-cuda-graph), or find in its log why it fell back"):format(engine)
      or "capture graphs up to the batches that are served (vLLM: cudagraph_capture_sizes, "
        .. "SGLang: --cuda-graph-max-bs, TensorRT-LLM: cuda_graph_config), or limit the batch",
    confidence = "high",
  }
end


local function report_padded(padded, larger, count, all, report)
  report.finding {
    stage = "decode", title = "decode steps run in CUDA graphs of larger batches",
    evidence = { evidence.seen("%N of %N decode steps: batches %s at least", count, all,
      table.concat(lists.map(padded, function(group)
        return ("%d as %d"):format(group.batch, larger[group.batch])
      end), ", ")) },
    try = "capture graphs of the batches that are served most",
  }
end


function rule.examine(results, report)
  local record = results.ranks
  if record.source ~= "labels" then return evidence.NO_STEPS end
  local steps = lists.filtered(record.steps or {}, function(group)
    return group.phase == "decode" and (group.kernels or 0) > 0
  end)
  local all = lists.sum(steps, "count")
  if all == 0 then return "there are no decode steps" end
  local graphed, eager = lists.parted(steps, function(group) return (group.graphed or 0) > 0 end)
  local larger = larger_of(results, record, steps, all)
  local padded = lists.filtered(steps, function(group) return larger[group.batch] end)
  local one_by_one, in_larger = lists.sum(eager, "count"), lists.sum(padded, "count")
  if one_by_one >= EAGER * all then
    report_eager(eager, one_by_one, all, evidence.engine(results) or record.engine, report)
  end
  if in_larger >= PADDED * all then
    report_padded(padded, larger, in_larger, all, report)
  end
  return ("%d of %d decode steps replay a CUDA graph, %d one of a larger batch"):format(
    lists.sum(graphed, "count"), all, in_larger)
end


return rule
