-- Matmuls off the tensor cores, or in tf32; 16-bit matmuls by kernels for odd dimensions.
local evidence = require "llmprof.advice.evidence"
local lists = require "llmprof.tables.lists"

local rule = { name = "gemm_precision", own_code = true }

-- From these shares of the stage's GPU time on: slow formats, odd dimensions.
local WORTH, WORTH_ODD = 0.01, 0.03

-- On every GPU since Ampere dense tf32 has at least twice the peak of fp32 without tensor cores and
-- bf16 twice that of tf32 (vendor data sheets): what is left of their time in bf16.
local OF_TF32, OF_FP32 = 0.5, 0.25

local FP32 = "fp32 without the tensor cores"

-- A gemm this busy in the tensor pipe uses it, whatever it is called, %.
local USES_TENSOR = 1

local fp32 = evidence.named { "%f[%a]sgemm", "gemmsn_.*const float", "simt",
  "f32f32_f32f32", "%f[%a]ffma" }
local fp64 = evidence.named { "dgemm", "f64f64" }
local tf32 = evidence.named { "tf32", "s1688gemm", "tensorop_s1688" }


-- Kernels for 16 bits that take dimensions and strides that are no multiples of 8.
local odd = evidence.named { "gemmsn_n.*bfloat16", "gemmsn_n.*half", "f16.*align[ac]?[12]%f[%D]" }


-- What bounds a kernel that computes without them.
local computes = { fp32 = true, fp64 = true, ALU = true, issue = true, ["some SM unit"] = true }


local function kind_of(kernel)
  if fp64(kernel) then return "fp64" end
  if tf32(kernel) then return "tf32 on the tensor cores" end
  local tensor = kernel.counters and kernel.counters.tensor_percent
  if fp32(kernel) and not (tensor and tensor >= USES_TENSOR) then return FP32 end
  if tensor and tensor < USES_TENSOR and computes[kernel.counters.bound] then
    return "without the tensor cores", "counters"
  end
  return nil
end


local function changes_of(stage, kernels)
  local of_fp32, of_tf32 = lists.parted(kernels, function(kernel)
    return kind_of(kernel) == FP32
  end)
  return lists.joined(evidence.change(("scale(%%s, %g)"):format(OF_FP32), stage, of_fp32),
    evidence.change(("scale(%%s, %g)"):format(OF_TF32), stage, of_tf32))
end


local function report_odd(results, stage, report)
  local group = evidence.kernels(results, stage, function(kernel)
    return evidence.is_product(kernel) and odd(kernel) and not kind_of(kernel)
  end)
  if group.share < WORTH_ODD then return end
  report.finding {
    title = ("%s multiplies 16-bit matrices by kernels for odd dimensions"):format(stage.name),
    evidence = evidence.with_kernels({ evidence.seen("%P of the stage's GPU time",
      group.share) }, group, stage),
    try = "dimensions and strides that are multiples of 8 take the tensor cores: pad the "
      .. "vocabulary, or whichever is odd",
    kernels = group.ids,
  }
end


function rule.examine_stage(results, stage, report)
  report_odd(results, stage, report)
  local slow = evidence.kernels(results, stage, function(kernel)
    return evidence.is_product(kernel) and kind_of(kernel) ~= nil
  end)
  if slow.share >= WORTH then
    local notes = { evidence.seen("%P of the stage's GPU time", slow.share) }
    for i, note in ipairs(evidence.largest(slow, stage)) do
      local kind, source = kind_of(slow.list[i])
      notes[i + 1] = evidence.note(source or "kernel name", "%s, %s", note.text, kind)
    end
    report.finding {
      title = ("%s multiplies matrices in fp32 or tf32"):format(stage.name),
      evidence = notes,
      try = "bf16 or fp16 inputs with dimensions that are multiples of 8; for what must stay "
        .. "fp32, " .. evidence.remedy(results,
          "torch.set_float32_matmul_precision(\"high\"); for a convolution, channels_last",
          "tf32 (CUBLAS_COMPUTE_32F_FAST_TF32)"),
      changes = changes_of(stage, slow.list),
      assumption = "bf16 on the tensor cores takes half the time of tf32, a quarter of fp32 "
        .. "without them",
      kernels = slow.ids,
    }
  end
  return evidence.say("matmuls named as fp32, tf32 or fp64 take %P of the GPU time", slow.share)
end


return rule
