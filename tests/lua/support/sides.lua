-- Sides of a comparison small enough to work out by hand, for specs.
local sides = {}


-- An instance of a stage: wall time in ms, of which the GPU works half.
local function instance(ms)
  return { wall_ns = ms * 1e6, gpu_time_ns = ms * 5e5, gpu_idle_ns = ms * 5e5, kernels = 10,
    launches = 12, copies = 1, sets = 1, used = true }
end


-- given: name, parent, walls (ms of each instance), instances (fields that replace
-- those of each instance), and fields of the stage.
function sides.stage(given)
  local stage = { name = given.name, parent = given.parent, instances = {},
    wall = { count = #given.walls }, kernels = 10, launches = 12, copies = 2,
    gpu_busy_ns = 5e6, gpu_idle_ns = 5e6 }
  for i, ms in ipairs(given.walls) do
    stage.instances[i] = instance(ms)
    for field, value in pairs(given.instances or {}) do stage.instances[i][field] = value end
  end
  for field, value in pairs(given.fields or {}) do stage[field] = value end
  return stage
end


-- A kernel of decode: calls of 10 us each.
function sides.kernel(given)
  local kernel = { name = "k", stage = "decode", category = "other", calls = 4,
    shapes = { { grid = { 1, 1, 1 }, block = { 32, 1, 1 }, calls = 4 } } }
  for field, value in pairs(given) do kernel[field] = value end
  kernel.short_name = kernel.short_name or kernel.name
  kernel.label = kernel.label or kernel.short_name
  kernel.total_ns = kernel.total_ns or kernel.calls * 10000
  if given.grid then kernel.shapes[1].grid = { given.grid, 1, 1 } end
  kernel.shapes[1].calls = kernel.calls
  return kernel
end


-- A run of metrics.json: the ms of its decodes, one a repeat, of 2 steps each.
function sides.plain(...)
  local run = { batch = 2, repeats = {} }
  for i, ms in ipairs { ... } do
    run.repeats[i] = { stages = { decode = { ms = ms, count = 1, steps = 2,
      steps_ms = { ms / 2 - 1, ms / 2 + 1 } } } }
  end
  return run
end


-- given: name, stages (of sides.stage), kernels, plain (runs without the profiler), and
-- fields of results.
local function run(given)
  local results = { run = { recipe = "r" }, model = {}, environment = {},
    source = { timeline = { from = "recorded" } }, stages = given.stages or {},
    kernels = given.kernels or {}, repeats = { count = 1, used = 1, skipped_first = false } }
  for field, value in pairs(given.results or {}) do results[field] = value end
  return { name = given.name or "side", results = results, plain = given.plain or {},
    config = given.config, metrics = given.metrics }
end


-- A side of one run, or of these.
function sides.side(given, ...)
  local runs, plain = { run(given) }, 0
  for i, more in ipairs { ... } do runs[i + 1] = run(more) end
  for _, one in ipairs(runs) do plain = plain + #one.plain end
  local first = runs[1]
  return { kind = #runs > 1 and "runs" or "run", name = first.name, runs = runs,
    results = first.results, config = first.config, metrics = first.metrics,
    plain_runs = plain }
end


-- A side whose only stage is decode, with these walls in ms; a table is those of a run
-- of its own.
function sides.decode(...)
  local given = {}
  for i, walls in ipairs(type(...) == "table" and { ... } or { { ... } }) do
    given[i] = { stages = { sides.stage { name = "decode", walls = walls } } }
  end
  return sides.side(table.unpack(given))
end


return sides
