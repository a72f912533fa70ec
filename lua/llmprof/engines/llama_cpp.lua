-- llama.cpp, which marks nothing: its kernels tell it.
local llama_cpp = { name = "llama_cpp", title = "llama.cpp" }

function llama_cpp.step() return nil end

llama_cpp.kernels = { "mul_mat_vec_q", "mul_mat_q<", "^void mul_mat_vec<", "quantize_q8_1" }

llama_cpp.switches = { env = {}, text = "it has no labels" }

llama_cpp.endpoints = { health = "/health", metrics = "/metrics" }

return llama_cpp
