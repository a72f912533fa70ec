-- What the program is written with, since the remedies differ: results.framework. Of a
-- serving engine it is the engine's; else ranges of XLA's modules tell JAX, signs in the trace
-- and in what the workload says of itself PyTorch. A program without any sign is of neither: the
-- eager operators of PyTorch, and what it compiles, have kernels with its names.
local engines = require "llmprof.engines"
local errors = require "llmprof.process.errors"
local lists = require "llmprof.tables.lists"

local framework = { where = { "trace" }, reads = { "kernels", "metrics", "operators" },
  gives = { engine = "the serving engine whose ranges or kernels are in the trace",
    framework = "what the program is written with" } }

local PYTORCH = { name = "pytorch", title = "PyTorch" }
local JAX = { name = "jax", title = "JAX" }

-- What engines are written with, by their field `framework`.
local known = { pytorch = PYTORCH, ggml = { name = "ggml", title = "ggml" } }

-- Patterns of kernels (lower case) and of ranges.
local KERNELS = { "%f[%w_]at::", "^triton_", "%f[%w_]c10::", "torch" }
local TAGS, JAX_TAGS = { "^aten::", "^autograd::", "^torch" }, { "^TSL:XlaModule:" }


local function any(list, patterns)
  return lists.any(list, function(text)
    return lists.any(patterns, function(pattern) return text:find(pattern) end)
  end)
end


-- { name, title }, nil where nothing tells. given: engine ({ name }, optional), names (of
-- kernels, lower case), tags (of ranges), metrics and operators (optional).
function framework.of(given)
  local engine = given.engine and engines.find(given.engine.name)
  if engine and engine.framework then return known[engine.framework] end
  if any(given.tags, JAX_TAGS) then return JAX end
  local said = given.metrics and given.metrics.environment or {}
  if any(given.names, KERNELS) or any(given.tags, TAGS) or said.torch or given.operators then
    return PYTORCH
  end
  return nil
end


function framework.run(state)
  local tags = lists.map(errors.check(state.trace:frame "ranges"):group { by = { "tag" } }, "tag")
  local names = lists.map(state.kernels or {}, function(kernel) return kernel.name:lower() end)
  local said = engines.recognise(tags)
  local engine = said and said.engine or engines.of_kernels(names)
  state.engine = engine and { name = engine.name, title = engine.title } or nil
  state.framework = framework.of { engine = state.engine, names = names, tags = tags,
    metrics = state.metrics, operators = state.operators }
end


return framework
