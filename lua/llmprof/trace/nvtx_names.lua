-- Names of NVTX ranges as NVIDIA's tools take them. Here a range is "text", or
-- "domain:text" in a domain that has a name, as the tools' own reports write it.
local lists = require "llmprof.tables.lists"

local range_name = {}


-- A name as recipes may write it: "domain@text" is "domain:text".
function range_name.canonical(name) return (name:gsub("^([^@:%s]+)@([^@]+)$", "%1:%2")) end


-- Domain (nil for the default one) and text of a name.
function range_name.split(name)
  local domain, text = name:match "^([^:]+):(%S.*)$"
  return domain, text or name
end


-- What a stage of that name is to a model: "prefill" for "LLM:prefill" and "PREFILL", too.
function range_name.role(name)
  local _, text = range_name.split(name)
  local lower = text:lower()
  return (lower == "prefill" or lower == "decode") and lower or text
end


-- What means something in a filter of ncu is escaped.
local function escape(text) return (text:gsub("[@,%[%]/*+]", "\\%0")) end


-- A push/pop range as a filter of ncu: "text/" or "domain@text/". is_default:
-- the range is known to be in the default domain, whatever its text looks like.
function range_name.ncu_filter(name, is_default)
  local domain, text = range_name.split(name)
  if is_default then domain, text = nil, name end
  return (domain and escape(domain) .. "@" or "") .. escape(text) .. "/"
end


-- A range as nsys's --nvtx-capture takes it: "text" or "text@domain". A name
-- with "@" is in that form already.
function range_name.nsys_capture(name)
  if name:find "@" then return name end
  local domain, text = range_name.split(name)
  return domain and text .. "@" .. domain or text
end


-- What a step of the stage of that name makes, as texts call it: only decode's is a token.
function range_name.step(name) return range_name.role(name) == "decode" and "token" or "step" end


-- What the text of an NVTX range names of a model:
--
--   {'Module': 'model.layers.3.mlp', 'Inputs': ...}   vLLM (--enable-layerwise-nvtx-tracing),
--                                                     SGLang (--enable-layerwise-nvtx-marker)
--   model.layers.3.mlp                                other hooks: a path with a number
--   aten::mm, seq = 7, op_id = 12, sizes = [...]      torch's emit_nvtx,
--                                                     nsys profile --pytorch=autograd-nvtx
--   TSL:Thunk:#name=...,hlo_op=fusion.4,...#          XLA, around each instruction of a program

-- A path has a number behind a word: "model.layers.3", not "torch.compile" or "v1.2".
local function is_path(text)
  return text:find "^[%a_][%w_.]*%w$" and text:find "%f[%w_][%a_]+%.%d+%f[.%z]"
    and not text:find "%.%."
end


-- Bytes of a path or an operator: longer ones are none.
local LONGEST = 512

local function short(text) return text and #text <= LONGEST and text or nil end


-- The path of a module; nil where the tag names none.
function range_name.module_path(tag)
  return short(tag:match "['\"]Module['\"]%s*:%s*['\"]([^'\"]+)['\"]" or (is_path(tag) and tag))
end


-- A module in all layers: numbers as "*".
function range_name.all_layers(path) return (path:gsub("%.%d+%f[.%z]", ".*")) end


-- { path, module (numbers as "*"), layer (the path to its first number; nil in none) }, or
-- { operator }; nil where the tag names neither.
function range_name.read_text(tag)
  local path = range_name.module_path(tag)
  if path then
    return { path = path, module = range_name.all_layers(path),
      layer = path:match "^.-%.%d+%f[.%z]" }
  end
  local operator = short(tag:match "^([%a_][%w_]*::[%w_:.]+)%f[,%z]"
    or tag:match "^TSL:Thunk:#.*%f[%w_]hlo_op=([^,#]+)")
  return operator and { operator = operator } or nil
end


-- The path to the list of layers that a module is in, "model.layers", and its number there; nil
-- of a module in none.
function range_name.layer_of(module)
  local read = module and range_name.read_text(module)
  local list, number = (read and read.layer or ""):match "^(.*)%.(%d+)$"
  return list, math.tointeger(tonumber(number))
end


-- Of a frame of ranges: each different tag that names something once, { tag, read }, by tag.
function range_name.tags_by_kind(ranges)
  local list = lists.map(ranges:group { by = { "tag" } }, function(group)
    local read = group.tag and range_name.read_text(group.tag)
    return read and { tag = group.tag, read = read } or nil
  end)
  return lists.sort(list, "tag")
end


return range_name
