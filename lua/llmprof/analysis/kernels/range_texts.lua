-- What the text of an NVTX range names of a model:
--
--   {'Module': 'model.layers.3.mlp', 'Inputs': ...}   vLLM (--enable-layerwise-nvtx-tracing),
--                                                     SGLang (--enable-layerwise-nvtx-marker)
--   model.layers.3.mlp                                other hooks: a path with a number
--   aten::mm, seq = 7, op_id = 12, sizes = [...]      torch's emit_nvtx,
--                                                     nsys profile --pytorch=autograd-nvtx
local named = {}


-- A path has a number behind a word: "model.layers.3", not "torch.compile" or "v1.2".
local function is_path(text)
  return text:find "^[%a_][%w_.]*%w$" and text:find "%f[%w_][%a_]+%.%d+%f[.%z]"
    and not text:find "%.%."
end


-- Bytes of a path or an operator: longer ones are none.
local LONGEST = 512

local function short(text) return text and #text <= LONGEST and text or nil end


-- The path of a module; nil where the tag names none.
function named.path(tag)
  return short(tag:match "['\"]Module['\"]%s*:%s*['\"]([^'\"]+)['\"]" or (is_path(tag) and tag))
end


-- { path, module (numbers as "*"), layer (the path to its first number; nil in none) }, or
-- { operator }; nil where the tag names neither.
function named.read(tag)
  local path = named.path(tag)
  if path then
    return { path = path, module = path:gsub("%.%d+%f[.%z]", ".*"),
      layer = path:match "^.-%.%d+%f[.%z]" }
  end
  local operator = short(tag:match "^([%a_][%w_]*::[%w_:.]+)%f[,%z]")
  return operator and { operator = operator } or nil
end


-- Of a frame of ranges: each different tag that names something once, { tag, read }, by tag.
function named.tags(ranges)
  local list = {}
  for _, group in ipairs(ranges:group { by = { "tag" } }) do
    local read = group.tag and named.read(group.tag)
    if read then list[#list + 1] = { tag = group.tag, read = read } end
  end
  table.sort(list, function(a, b) return a.tag < b.tag end)
  return list
end


return named
