-- What the GPUs could do at most, and what each stage had to do: FLOP and bytes of the model's
-- work in one instance of it, as stage.cost. From the recipe's flops(stage, metrics, cfg) where
-- it gives something, else from the model's description and what the run did.
--
-- The stage "prefill" is the decoder's prefill and every encoder that is no
-- stage without a parent itself, "decode" all steps after the first token; a
-- stage named like an encoder is that encoder. Other stages have no cost. Where
-- a repeat has several ranges of a stage (a range per step), each has its share.
local hardware = require "llmprof.model.hardware"
local json = require "llmprof.json"
local lists = require "llmprof.tables.lists"
local model = require "llmprof.model"
local range_name = require "llmprof.trace.nvtx_names"
local errors = require "llmprof.process.errors"
local text = require "llmprof.text"

local work = { where = { "trace" },
  reads = { "found", "stages", "metrics", "flops", "arch", "arch_complaint", "run", "missing",
    "environment", "kernels", "gpu", "launches", "samples" },
  gives = { ["stages.cost"] = "FLOP and bytes of a stage",
    hardware = "peaks of the GPUs that ran the stages",
    ["environment.devices"] = "the GPUs of the trace" } }

-- Parameters may differ by this share before a description counts as that of
-- another model.
local TOLERANCE = 0.005

local FORMULA = {
  flops = "2 per multiply-add of matmuls, convolutions and attention",
  bytes = "weight_bytes + kv_read_bytes + kv_write_bytes",
}


-- ---- from the recipe ----

local function is_amount(value)
  return type(value) == "number" and value > 0 and value < math.huge
end


-- flops(stage, metrics, cfg) gives a number, { flops, bytes } or nothing.
local function from_recipe(given, stage)
  if not given.flops then return nil end
  local said = given.flops(stage, given.metrics)
  if said == nil then return nil end
  local made = type(said) == "table" and { flops = said.flops, bytes = said.bytes }
    or { flops = said }
  if next(made) == nil or made.flops ~= nil and not is_amount(made.flops)
    or made.bytes ~= nil and not is_amount(made.bytes) then
    errors.raise("usage", ("flops: stage '%s': a number above 0 or { flops =, bytes = } is "
      .. "expected"):format(stage.name))
  end
  made.source = "the recipe's flops()"
  return made
end


-- ---- from the description ----

-- A cost as results have it; done: the work that it is of.
local function described(arch, cost, done)
  cost.parts = json.list(cost.parts)
  cost.source, cost.work, cost.formula = arch.source, done, FORMULA
  return cost
end


local function encoder_cost(arch, run, name)
  if #run.images == 0 then return nil end
  local images = lists.map(run.images, function(image)
    return { count = image.count * run.batch, size = image.size }
  end)
  return model.encode(arch, name, images),
    { batch = run.batch, images = json.list(run.images), images_source = run.images_source }
end


local function prefill_cost(arch, run, own_stage)
  local list = { { name = "decoder",
    cost = model.prefill(arch, { tokens = run.prompt_tokens, batch = run.batch }) } }
  local done = { batch = run.batch, tokens = run.prompt_tokens }
  for _, part in ipairs(arch.encoders) do
    local cost = not own_stage[part.name] and encoder_cost(arch, run, part.name)
    if cost then
      list[#list + 1] = { name = part.name, cost = cost }
      done.images, done.images_source = json.list(run.images), run.images_source
    end
  end
  return model.together(list), done, list
end


-- Tokens that a request has in steps that only prefill, by their labels; nil where one says none.
local function labelled_tokens(instances)
  if lists.any(instances, function(one) return not (one.work and one.context) end) then
    return nil
  end
  return math.floor(lists.sum(instances, "work") / lists.sum(instances, "context") + 0.5)
end


-- What one step of an engine has to do, half way through the texts of its requests, and what it
-- does; nil where it does both, or nothing tells how many tokens it has. batch: its requests;
-- tokens: of a prompt; run: nil where the workload says nothing.
function work.of_step(arch, run, role, batch, tokens)
  local done
  if role == "decode" and run and batch > 0 then
    done = { batch = batch, steps = 1, context = run.prompt_tokens + (run.new_tokens or 0) // 2 }
    return model.decode(arch, done), done
  elseif role == "prefill" and tokens and batch > 0 then
    done = { batch = batch, tokens = tokens }
    return model.prefill(arch, done), done
  end
  return nil
end


local function of_engine(given, stage)
  local arch, run = given.arch, given.run
  if not arch or not arch.decoder then return nil end
  local own = lists.filtered(given.found.instances, function(instance)
    return instance.stage == stage.name and instance.used
  end)
  local role = range_name.role(stage.name)
  -- the requests that such steps had in the mean
  local requests = lists.sum(own, role == "decode" and "requests" or "context")
  local cost, done = work.of_step(arch, run, role, math.floor(requests / #own + 0.5),
    run and run.prompt_tokens or labelled_tokens(own))
  return cost and described(arch, cost, done)
end


local function from_description(given, stage, own_stage)
  if given.found and given.found.by_engine then return of_engine(given, stage) end
  local arch, run = given.arch, given.run
  if not arch or not run then return nil end
  local role, cost, done, sequence = range_name.role(stage.name)
  if lists.find(arch.encoders, "name", role) then
    cost, done = encoder_cost(arch, run, role)
  elseif arch.decoder and role == "prefill" then
    cost, done, sequence = prefill_cost(arch, run, own_stage)
  elseif arch.decoder and role == "decode" and (run.new_tokens or 0) > 1 then
    done = { batch = run.batch, steps = run.new_tokens - 1, context = run.prompt_tokens }
    cost = model.decode(arch, done)
  end
  if not cost then return nil end
  local count, repeats = stage.wall and stage.wall.count or 1, stage.repeats or 0
  local ranges = repeats > 0 and math.max(count / repeats, 1) or 1 -- in one repeat
  if ranges > 1 then
    cost = model.scaled(cost, 1 / ranges)
    done.ranges = ranges
  end
  if sequence and #sequence > 1 then -- these cannot overlap: one's output is the next one's input
    cost.sequence = json.list(lists.map(sequence, function(entry)
      return { name = entry.name, flops = entry.cost.flops / ranges,
        bytes = entry.cost.bytes / ranges }
    end))
  end
  return described(arch, cost, done)
end


-- ---- whether it can be right ----

-- What is wrong with the description for this run, or nil.
local function contradiction(given)
  local metrics, arch = given.metrics, given.arch
  local said = metrics and metrics.model and metrics.model.parameters
  local counted = said and said.total
  if not arch or type(counted) ~= "number" then return nil end
  local total = model.parameters(arch).total
  if math.abs(total - counted) <= TOLERANCE * counted then return nil end
  if arch.partial and total < counted then return nil end
  return ("%s describes %s parameters, the workload counted %s"):format(arch.source,
    text.count(total), text.count(counted))
end


-- Give each stage its cost. given: arch
-- (of llmprof.model), arch_complaint, run (of
-- llmprof.model), metrics, flops (the recipe's, of stage and metrics).
-- Returns a missing entry { what, why, how } when no stage has one, or nil.
function work.add(stages, given)
  local wrong = contradiction(given)
  if wrong then given = setmetatable({ arch = false }, { __index = given }) end
  local own_stage = {}
  for _, stage in ipairs(stages) do own_stage[range_name.role(stage.name)] = not stage.parent end
  for _, stage in ipairs(stages) do
    stage.cost = from_recipe(given, stage) or from_description(given, stage, own_stage)
  end
  if wrong then
    return { what = "the model's cost", why = wrong,
      how = "model.arch or model.config of the model that ran" }
  end
  if lists.any(stages, "cost") then return nil end
  if given.arch then
    return { what = "the model's cost", why = "the run does not say how many tokens it had",
      how = "a workload that writes metrics.json, as docs/workload.md describes" }
  end
  return { what = "the model's cost", why = given.arch_complaint or "nothing describes the model",
    how = "describe the architecture in model.arch, name a config.json with model.config, or give "
      .. "the recipe a function flops(stage, metrics, cfg)" }
end


-- ---- the GPUs ----

-- GPUs that nothing can refer to are left out: a damaged export may have such.
local function devices(trace)
  local known = lists.sort(lists.filtered(trace:devices(), "id"), "id")
  return json.list(lists.map(known, function(device)
    return { id = device.id, name = device.name, chip = device.chip, uuid = device.uuid,
      memory_bytes = device.memory, bandwidth_bytes_per_s = device.bandwidth,
      max_clock_hz = device.clock, sm_count = device.sm_count, l2_bytes = device.l2,
      compute_capability = device.compute }
  end))
end


-- GPUs that ran kernels of the stages.
local function count_devices(kernels)
  local _, most = lists.largest(kernels, "devices")
  return math.max(#lists.grouped(kernels, "device"), most or 0)
end


function work.run(state)
  state.environment.devices = devices(state.trace)
  local gpu = hardware.describe { device = state.environment.devices[1],
    count = count_devices(state.kernels or {}), cfg = state.gpu, launches = state.launches,
    samples = state.samples, format = state.arch and state.arch.formats.activations or "bf16" }
  -- nobody asks what a GPU could do that is nowhere to be seen
  if gpu.name or #(state.kernels or {}) > 0 then lists.add(state.missing, gpu.missing) end
  gpu.missing = nil
  state.hardware = gpu
  table.insert(state.missing, work.add(state.stages, state))
end


return work
