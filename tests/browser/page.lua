-- Writes a page for tests/browser/page.py: llmprof exec page.lua FILE [EVENTS]. With EVENTS its
-- timeline has that many: calls, and what each launched.
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local encode = require "llmprof.analysis.timeline.encode"
local frame = require "llmprof.frame"
local pack = require "llmprof.pack"
local chapters = require "llmprof.report.chapters"
local documents = require "llmprof.report.documents"
local results = require "tests.lua.support.results"

local given = results.full {
  latency = { tpot = { count = 4, mean_ns = 2e6, min_ns = 1e6, max_ns = 4e6,
    values_ns = { 1e6, 1.5e6, 1.5e6, 4e6 } } },
  roofline = { left_out = 0, stages = json.list {},
    roofs = { tensor = { per_s = 9.9e14, source = "file" }, tensor_format = "bf16",
      vector = { per_s = 6.7e13, source = "file" }, dram = { per_s = 4.8e12, source = "file" },
      l2 = { per_s = 1.2e13, source = "ncu" } },
    kernels = { { kernel = 1, stage = "decode", intensity = 60, l2_intensity = 20, rate = 2e13,
      unit = "tensor", share = 0.5 } } },
  advice = { abstained = json.list {}, findings = { { rule = "gemv", stage = "decode",
    title = "single vectors", try = "batch", confidence = "low", kernels = { 1, 2 },
    evidence = { { text = "kernel 2", source = "timeline" } } } } },
}

for i, stage in ipairs(given.stages) do
  stage.instances = { { start_ns = i * 1e6, wall_ns = 1e6, gpu_busy_ns = 5e5, rep = 1,
    used = true } }
  stage.categories = { { category = "gemm", gpu_time_ns = 4e6, calls = 1, share = 1 } }
end
given.kernels[2].name = "<script>alert(1)</script>"
given.kernels[2].label = "</script><img src=x onerror=alert(1)>"

-- Stacks whose names are made to act.
local HOSTILE = "</script><svg onload=alert(1)>"
given.cpu_samples = { timeline = 12, outside = 2, stages = { { stage = "decode", scope = "thread",
  samples = 10, other_threads = 0, without_stack = 0, cut = 1, different = 4, functions = {
    { name = "leaf", module = "work", self = 6, total = 6 } }, tree = {
    { depth = 0, name = "main", module = "work", self = 1, total = 10 },
    { depth = 1, name = "run", module = "work", self = 0, total = 6 },
    { depth = 2, name = "leaf", module = "work", self = 6, total = 6 },
    { depth = 1, name = HOSTILE, self = 3, total = 3 } } } } }

given.lines = { rows = { { stage = "decode", line = "m/" .. HOSTILE .. "/model.py:5",
  ["function"] = "forward", kernels = 4, gpu_ns = 6e6, share = 0.6,
  names = { { name = HOSTILE, calls = 4, gpu_ns = 6e6 } } } },
  stages = { { stage = "decode", gpu_ns = 10000000, line_ns = 6000000, module_ns = 0, tree = {
    { depth = 0, name = "forward", module = "m/layers/model.py:5", self = 0, total = 6000000 },
    { depth = 1, name = "gemm", self = 6000000, total = 6000000 },
    { depth = 0, name = HOSTILE, self = 4000000, total = 4000000 } } } } }

-- A frame of rows every 10 us on a lane. more: columns by name, a value or a function of a row.
local function events_of(count, names, more)
  local columns = {}
  for i, name in ipairs(names) do
    local value, values = more[name], {}
    for row = 1, count do
      values[row] = type(value) == "function" and value(row) or type(value) == "number" and value
        or false
    end
    columns[i] = { name = name, type = "integer", values = values }
  end
  return frame.new(count, columns)
end


local function timeline_of(count)
  local made, most = encode.new(), count // 2
  local labels, stage = {}, made.label "decode"
  for i, category in ipairs { "gemm", "elementwise", "copy/cast", "reduce" } do
    labels[i] = made.label(category .. " kernel")
    made:categorise(labels[i], category)
  end
  local lanes = { stage = made:lane("stage", "stages"), gpu = made:lane("gpu", "GPU 0, stream 7"),
    api = made:lane("api", "CUDA calls") }
  local span = { first = 0, last = most * 10000 }
  return pack.gzip(made:pack({ span = span, window = span, view = span }, {
    { "mark", encode.marks { { start = 0, stop = span.last, lane = lanes.stage, label = stage } } },
    { "gpu", events_of(most, encode.GPU, { lane = lanes.gpu, duration = 4000,
      start = function(row) return row * 10000 end,
      label = function(row) return labels[row % 4 + 1] end,
      api_start = function(row) return row * 10000 - 5000 end, queue_time = 1000 }) },
    { "api", events_of(most, { "start", "duration", "lane", "label" }, { lane = lanes.api,
      duration = 4000, label = made.label "cudaLaunchKernel",
      start = function(row) return row * 10000 - 5000 end }) },
    { "range", encode.marks {} }, { "busy", made:shares({}, span, span) } }))
end

assert(fs.write(arg[1], documents.page(given, chapters.layout { "all" },
  arg[2] and timeline_of(tonumber(arg[2])) or nil)))
