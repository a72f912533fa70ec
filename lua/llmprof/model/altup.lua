-- What Gemma 3n has beside its layers: several copies of the hidden state that a
-- layer predicts and corrects (AltUp), a product of low rank beside attention
-- (LAuReL), and embeddings of each token for each layer. Fields are named as in
-- config.json.
local altup = {}

altup.FIELDS = {
  altup_num_inputs = { "whole", 0 },
  laurel_rank = { "whole", 0 },
  hidden_size_per_layer_input = { "whole", 0 },
  vocab_size_per_layer_input = { "whole", 0 },
  num_kv_shared_layers = { "whole", 0 }, -- the last ones, which use keys of layers before them
}

local PART = "altup"


-- Numbers of a token's embeddings for all layers.
function altup.embedding_width(d)
  return d.num_hidden_layers * d.hidden_size_per_layer_input
end


local function add_copies(list, d)
  local hidden, inputs, layers = d.hidden_size, d.altup_num_inputs, d.num_hidden_layers
  if inputs == 0 then return end
  list.add(PART, hidden, hidden, 2 * (inputs - 1))
  list.add(PART, hidden, inputs, layers)
  list.add(PART, inputs, inputs + inputs * inputs, layers)
  list.add("norms", 2, hidden, layers, { vectors = true })
end


local function add_laurel(list, d)
  if d.laurel_rank == 0 then return end
  list.add(PART, d.hidden_size, d.laurel_rank, d.num_hidden_layers)
  list.add(PART, d.laurel_rank, d.hidden_size, d.num_hidden_layers)
  list.add("norms", 1, d.hidden_size, d.num_hidden_layers, { vectors = true })
end


local function add_per_layer(list, d)
  local width = d.hidden_size_per_layer_input
  if width == 0 then return end
  list.add(PART, d.hidden_size, altup.embedding_width(d), 1)
  list.add(PART, d.hidden_size, width, d.num_hidden_layers)
  list.add(PART, width, d.hidden_size, d.num_hidden_layers)
  list.add("norms", 1, d.hidden_size, d.num_hidden_layers, { vectors = true })
  list.add("norms", 1, width, 1, { vectors = true })
end


-- Add the products of all layers to a list of llmprof.model.decoder.
function altup.add(list, d)
  add_copies(list, d)
  add_laurel(list, d)
  add_per_layer(list, d)
end


return altup
