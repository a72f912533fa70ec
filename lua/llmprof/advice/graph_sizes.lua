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


-- By batch the larger one whose graph its steps replay. A row that several blocks share is no row
-- more.
local function larger_of(results, record)
  local larger, all, rows = {}, 0, rows_of_norms(results)
  for _, entry in ipairs(record.padded or {}) do larger[entry.batch] = entry.as end
  for _, group in ipairs(record.steps or {}) do
    all = all + (group.phase == "decode" and group.count or 0)
  end
  for _, group in ipairs(rows and record.steps or {}) do
    local batch = group.batch or 0
    if group.phase == "decode" and (group.graphed or 0) > 0 and group.count >= MOST * all
      and batch > 0 and rows > batch and rows % batch ~= 0 then
      larger[batch] = larger[batch] or rows
    end
  end
  return larger
end


-- Decode steps: how many, and of which batches without a graph, or padded.
local function count(results, record)
  local made = { all = 0, graphed = 0, eager = 0, padded = 0, eager_batches = {}, as = {} }
  local larger = larger_of(results, record)
  for _, group in ipairs(record.steps or {}) do
    if group.phase == "decode" and (group.kernels or 0) > 0 then
      made.all = made.all + group.count
      if (group.graphed or 0) > 0 then
        made.graphed = made.graphed + group.count
      else
        made.eager = made.eager + group.count
        made.eager_batches[#made.eager_batches + 1] = group.batch
      end
      if larger[group.batch] then
        made.padded = made.padded + group.count
        made.as[#made.as + 1] = ("%d as %d"):format(group.batch, larger[group.batch])
      end
    end
  end
  return made
end


local function report_eager(made, engine, report)
  local all = made.graphed == 0
  report.finding {
    stage = "decode",
    title = all and "decode runs without CUDA graphs"
      or "some batches of decode lie outside the captured CUDA graphs",
    evidence = { evidence.seen("%s of %s decode steps launch their kernels one by one%s",
      evidence.count(made.eager), evidence.count(made.all),
      #made.eager_batches > 0
        and ": batches " .. table.concat(lists.sort(made.eager_batches), ", ") or "") },
    try = all and ("leave out what makes %s run eagerly (--enforce-eager, --disable-cuda-graph), "
      .. "or find in its log why it fell back"):format(engine)
      or "capture graphs up to the batches that are served (vLLM: cudagraph_capture_sizes, "
        .. "SGLang: --cuda-graph-max-bs, TensorRT-LLM: cuda_graph_config), or limit the batch",
    confidence = "high",
  }
end


local function report_padded(made, report)
  report.finding {
    stage = "decode", title = "decode steps run in CUDA graphs of larger batches",
    evidence = { evidence.seen("%N of %N decode steps: batches %s at least", made.padded, made.all,
      table.concat(made.as, ", ")) },
    try = "capture graphs of the batches that are served most",
  }
end


function rule.examine(results, report)
  local record = results.ranks
  if record.source ~= "labels" then return evidence.NO_STEPS end
  local made = count(results, record)
  if made.all == 0 then return "there are no decode steps" end
  local eager, padded = made.eager >= EAGER * made.all, made.padded >= PADDED * made.all
  if eager then report_eager(made, evidence.engine(results) or record.engine, report) end
  if padded then report_padded(made, report) end
  if not (eager or padded) then
    return ("%d of %d decode steps replay a CUDA graph, %d one of a larger batch"):format(
      made.graphed, made.all, made.padded)
  end
end


return rule
