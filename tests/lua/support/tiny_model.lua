-- Descriptions small enough to work out by hand, for specs.
local model = require "llmprof.model"

local tiny = {}


-- A dense decoder; more: fields to add or replace.
function tiny.decoder(more)
  local decoder = { vocab_size = 10, hidden_size = 4, num_hidden_layers = 2,
    num_attention_heads = 2, num_key_value_heads = 1, head_dim = 2, intermediate_size = 8 }
  for key, value in pairs(more or {}) do decoder[key] = value end
  return decoder
end


-- An encoder of 4 * 4 patches, one layer with windows of 2 * 2 and one without.
function tiny.encoder(more)
  local encoder = { name = "sam", kind = "vit", image_size = 8, patch_size = 2, width = 4,
    layers = 2, heads = 2, intermediate_size = 8, window_size = 2, global_attn_indexes = { 1 },
    relative_positions = true,
    convolutions = { { outputs = 2, kernel = 3, stride = 2 } } }
  for key, value in pairs(more or {}) do encoder[key] = value end
  return encoder
end


-- The whole description. given: decoder, encoders, formats.
function tiny.arch(given)
  given = given or {}
  return model.from_table({ decoder = given.decoder or tiny.decoder(), formats = given.formats,
    encoders = given.encoders, image_size = given.encoders and 8 or nil }, "tiny.yaml")
end


return tiny
