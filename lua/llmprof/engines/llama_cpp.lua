-- llama.cpp, which marks nothing: its kernels tell it.
local llama_cpp = { name = "llama_cpp", title = "llama.cpp",
  framework = "ggml" }

function llama_cpp.step() return nil end

llama_cpp.kernels = { "mul_mat_vec_q", "mul_mat_q<", "^void mul_mat_vec<", "mul_mat_vec_f<",
  "mul_mat_f<", "quantize_q8_1", "k_bin_bcast", "flash_attn_ext_" }

llama_cpp.knobs = { graphs = "CUDA graphs, which its build has to have and "
  .. "GGML_CUDA_DISABLE_GRAPHS turns off" }

llama_cpp.page = "/metrics"

-- With --metrics; the page of the server in llama-cpp-python 0.3.36.
llama_cpp.figures = { running = { "llamacpp:requests_processing" },
  waiting = { "llamacpp:requests_deferred" },
  drafted = { "llamacpp:spec_decode_num_draft_tokens_total" },
  accepted = { "llamacpp:spec_decode_num_accepted_tokens_total" } }

return llama_cpp
