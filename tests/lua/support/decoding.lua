-- Timelines of ranks that decode together, as text for tests.lua.support.timeline: two
-- all-reduces in each layer, and if asked all-gathers beside them on a stream of their own.
local decoding = {}

-- ns: of a kernel, of a collective, between steps.
local KERNEL, COLLECTIVE, PAUSE = 15000, 5000, 10000


local function op(list, pid, from, to, name, stream)
  local id = #list
  list[#list + 1] = ("call %d %d pid=%d thread=%d id=%d cudaLaunchKernel"):format(from - 500,
    from - 400, pid, pid, id)
  list[#list + 1] = ("kernel %d %d pid=%d device=%d call=%d stream=%d %s(float *)"):format(from, to,
    pid, pid - 1, id, stream or 7, name)
end


-- One step of a rank from a time on; returns when it ends. beside: the layer that an
-- all-gather runs beside, nil for none.
local function step(list, pid, at, given, beside)
  op(list, pid, at, at + KERNEL, "embedding")
  at = at + KERNEL
  for layer = 0, given.layers - 1 do
    if layer == beside then
      op(list, pid, at + 1000, at + KERNEL // 2, "ncclDevKernel_AllGather_RING_LL", 9)
    end
    for _, kernel in ipairs { "flash_attention", "mlp_gemm" } do
      op(list, pid, at, at + KERNEL, kernel)
      op(list, pid, at + KERNEL, at + KERNEL + COLLECTIVE, "ncclDevKernel_AllReduce_Sum_bf16_RING")
      at = at + KERNEL + COLLECTIVE
    end
  end
  op(list, pid, at, at + KERNEL, "argmax_sample")
  return at + KERNEL
end


-- given: ranks, layers, steps, beside (a function of the step: the layer that an all-gather
-- runs beside), marked (are steps marked as vLLM does).
function decoding.lines(given)
  local list = { "knows calls" }
  for pid = 1, given.ranks do
    list[#list + 1] = ("device %d NVIDIA H200\nprocess %d python"):format(pid - 1, pid)
    local at = 100000
    for from = at - 60000, at - 30000, 10000 do
      op(list, pid, from, from + 10000, "prefill_gemm")
    end
    for number = 1, given.steps do
      local ended = step(list, pid, at, given, given.beside and given.beside(number))
      if given.marked then
        list[#list + 1] = ("range %d %d pid=%d thread=%d execute_context_0(0)_generation_1(1)")
          :format(at - 600, ended - 5000, pid, pid)
      end
      at = ended + PAUSE
    end
  end
  return table.concat(list, "\n") .. "\n"
end


return decoding
