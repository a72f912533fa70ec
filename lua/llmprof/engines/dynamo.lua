-- Dynamo, which runs another engine: its own ranges are of requests and their
-- parts, not of steps, so that a worker's steps are those of its engine.
local dynamo = { name = "dynamo", title = "Dynamo" }

function dynamo.step() return nil end

dynamo.marks = { "^NVTX:mm:", "^mm:", "^preprocess%.", "^NVTX:trtllm:", "^NVTX:vllm:",
  "^NVTX:sglang:" }

dynamo.page = "/metrics"

-- Of the frontend, as Dynamo 1.1 documents them.
dynamo.figures = { running = { "dynamo_frontend_inflight_requests" },
  waiting = { "dynamo_frontend_queued_requests" } }

return dynamo
