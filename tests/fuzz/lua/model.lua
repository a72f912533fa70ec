-- Descriptions of models: a config.json of Hugging Face, changed or any bytes, or YAML as
-- in conf/model. What can be read has costs, unless they are too large to count.
local fs = require "llmprof.fs"
local given = dofile "tests/fuzz/lua/given.lua"
local huggingface = require "llmprof.model.huggingface"
local json = require "llmprof.json"
local model = require "llmprof.model"
local yaml = require "llmprof.yaml"

local configs, presets = {}, {}


local function add_files(list, folder, ending)
  for _, name in ipairs(fs.list(folder)) do
    if name:find(ending) then list[#list + 1] = given.read(folder .. "/" .. name) end
  end
  assert(#list > 0, folder)
end


add_files(configs, "tests/fixtures/model", "%.json$")
add_files(presets, "conf/model", "%.yaml$")


local readers = {
  function(input)
    local config = json.decode(input:pick(configs))
    given.change(config, input)
    return huggingface.describe(config, "config.json")
  end,
  function(input)
    local described = yaml.decode(input:pick(presets))
    given.change(described, input)
    return described
  end,
  function(input)
    local config = json.decode(input:rest())
    return type(config) == "table" and huggingface.describe(config, "config.json") or nil
  end,
  function(input) return yaml.decode(input:rest()) end,
}


local function check(input)
  local described = input:pick(readers)(input)
  if type(described) ~= "table" then return end
  local arch = model.from_table(described, "model")
  given.try(model.parameters, arch)
  given.try(model.prefill, arch, { tokens = 17, batch = 2 })
  given.try(model.decode, arch, { steps = 3, context = 17, batch = 2 })
  for _, part in ipairs(arch.encoders) do
    given.try(model.encode, arch, part.name, { { count = 1, size = 224 } })
  end
end


function fuzz(bytes) -- luacheck: ignore 111
  given.try(check, given.input(bytes))
end
