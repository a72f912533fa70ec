-- Modules of the model and its layers, from stacks of launches where the trace has them, else,
-- with the framework's operators, from NVTX ranges that name them (llmprof.trace.nvtx_names).
-- An operation of the GPU belongs to the innermost module, layer and operator around its
-- launch. Modules of different layers are one, "model.layers.*.mlp".
local check = require("llmprof.process.errors").check
local json = require "llmprof.json"
local lines = require "llmprof.analysis.kernels.lines"
local lists = require "llmprof.tables.lists"
local range_name = require "llmprof.trace.nvtx_names"
local stages = require "llmprof.analysis.stages.find"
local tuple = require("llmprof.tables.keys").tuple

local modules = { where = { "trace" }, reads = { "found", "launched" },
  gives = { modules = "modules of the model, its layers and the framework's operators" } }

-- Rows of each kind, the largest first.
modules.MOST = 500

local kinds = { "module", "layer", "operator" }


-- By kind: list of { tag, what it is called }, and own, the tags of the ranges that are
-- such a thing: those in a layer are not the layer. nil where none is there.
local function tags_by_kind(ranges)
  local by_kind, tags = {}, range_name.tags_by_kind(ranges)
  for _, kind in ipairs(kinds) do
    local list = { own = {} }
    by_kind[kind] = list
    for _, entry in ipairs(tags) do
      local name = entry.read[kind]
      if name then list[#list + 1] = { entry.tag, name } end
      if name and (kind ~= "layer" or name == entry.read.path) then
        list.own[#list.own + 1] = entry.tag
      end
    end
  end
  return #tags > 0 and by_kind or nil
end


-- ---- their times ----

local function row_of(made, stage, name)
  return lists.entry(made.list, made.by_key, tuple(stage, name), { stage = stage, name = name })
end


-- What ran on the GPU: gpu_self_ns.
local function add_gpu(made, frame, kind)
  for _, group in ipairs(frame:group { by = { "stage", kind }, total = { "duration" } }) do
    if group[kind] then
      row_of(made, group.stage or stages.WHOLE_RUN, group[kind]).gpu_self_ns = group.duration.total
    end
  end
end


-- How often, and how long on the CPU: calls, host_ns, host_self_ns.
local function add_host(made, trace, ranges, kind, tags)
  local own = check(ranges:where { tag = tags.own })
  check(trace:label(own, kind, tags))
  for _, group in ipairs(own:group { by = { "stage", kind }, total = { "duration", "self" } }) do
    local row = row_of(made, group.stage or stages.WHOLE_RUN, group[kind])
    row.calls, row.host_ns, row.host_self_ns = group.count, group.duration.total,
      group.self.total
  end
end


local function add(row, sums)
  for field, value in pairs(sums) do row[field] = (row[field] or 0) + value end
end


-- Add sums to the row of a module and to those around it, by its path; is_made: those that are not
-- there are made, but for lists of layers, which launch nothing themselves.
local function add_around(made, stage, name, sums, is_made)
  local path = name
  while path do
    local is_list = name:sub(#path + 1, #path + 2) == ".*"
    local row = made.by_key[tuple(stage, path)]
      or is_made and not is_list and row_of(made, stage, path)
    if row then add(row, sums) end
    path = path:match "^(.*)%.[^.]*$"
  end
end


-- Shares of the stages' GPU time; totals: by stage.
local function finish(made, totals, key)
  for _, row in ipairs(made.list) do
    local total = totals[row.stage]
    if row[key] and total and total > 0 then row.share = row[key] / total end
  end
  lists.sort(made.list, function(row) return -(row[key] or 0) end,
    function(row) return -(row.host_ns or 0) end, "stage", "name")
  return json.list(lists.first(made.list, modules.MOST))
end


-- The ranges of the repeats that count; nil where stages are none on the CPU.
local function used_ranges(trace, found)
  local ranges = stages.label_ranges(trace, check(trace:frame "ranges"), found)
  if not ranges or found.whole then return ranges end
  return check(ranges:where { stage_range = stages.used_ranges(found) })
end


local function totals_of(ops)
  local totals = {}
  for _, group in ipairs(ops:group { by = { "stage" }, total = { "duration" } }) do
    totals[group.stage or stages.WHOLE_RUN] = group.duration.total
  end
  return totals
end


-- { modules, layers, operators }: lists of { stage, name, calls, gpu_ns (a module with
-- those in it), gpu_self_ns (of nothing inside), share (of the stage's GPU time),
-- host_ns, host_self_ns (without ranges inside) }, ns over the repeats that count; host
-- times and calls where stages are ranges. nil where no range names such a thing.
function modules.times(trace, found)
  local tags = tags_by_kind(check(trace:frame "ranges"))
  if not tags then return nil end
  local ops, ranges = stages.used(trace, check(trace:frame "gpu"), found), used_ranges(trace, found)
  for _, kind in ipairs(kinds) do check(trace:label(ops, kind, tags[kind])) end
  local totals, made = totals_of(ops), {}
  for _, kind in ipairs(kinds) do
    local one = { by_key = {}, list = {} }
    add_gpu(one, ops, kind)
    if ranges then add_host(one, trace, ranges, kind, tags[kind]) end
    for _, row in ipairs(kind == "module" and one.list or {}) do
      if row.gpu_self_ns then
        add_around(one, row.stage, row.name, { gpu_ns = row.gpu_self_ns })
      end
    end
    made[kind .. "s"] = finish(one, totals, kind == "module" and "gpu_ns" or "gpu_self_ns")
  end
  return made
end


-- ---- by stacks ----

-- The same from the stacks of operations of llmprof.analysis.kernels.lines, with kernels and
-- idle_ns; nil where these name no module.
local function of_stacks(ops)
  local own, layers = { by_key = {}, list = {} }, { by_key = {}, list = {} }
  local groups = lists.filtered(lines.sums(ops, { "stage", "torch_module" }), "torch_module")
  if #groups == 0 then return nil end
  for _, group in ipairs(groups) do
    local read = range_name.read_text(group.torch_module)
    local self = { gpu_self_ns = group.gpu_ns, host_self_ns = group.host_ns }
    add(row_of(own, group.stage, range_name.all_layers(group.torch_module)), self)
    if read and read.layer then
      local row = row_of(layers, group.stage, read.layer)
      add(row, self)
      add(row, { kernels = group.kernels, idle_ns = group.idle_ns, host_ns = group.host_ns })
    end
  end
  for _, group in ipairs(groups) do
    add_around(own, group.stage, range_name.all_layers(group.torch_module), {
      gpu_ns = group.gpu_ns, kernels = group.kernels, idle_ns = group.idle_ns,
      host_ns = group.host_ns }, true)
  end
  local totals = totals_of(ops)
  return { modules = finish(own, totals, "gpu_ns"),
    layers = finish(layers, totals, "gpu_self_ns"), operators = json.list {} }
end


function modules.run(state)
  if state.launched then state.modules = of_stacks(state.launched) end
  if state.modules then return end
  if not state.found.whole then state.modules = modules.times(state.trace, state.found) end
end


return modules
