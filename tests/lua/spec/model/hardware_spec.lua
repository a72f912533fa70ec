-- What GPUs could do at most, and where that is from.
local launches = require "tests.lua.support.launches"
local failure = require "tests.lua.support.failure"
local files = require "llmprof.io.files"
local hardware = require "llmprof.model.hardware"


local function describe_gpu(name, more)
  local given = { device = name and { name = name }, format = "bf16" }
  for key, value in pairs(more or {}) do given[key] = value end
  return hardware.describe(given)
end


-- A launch of ncu with peaks as it reports them.
local function launch(dram, bf16)
  return { peak = { dram = dram, fp32 = 60e12, tensor = { bf16 = bf16 } } }
end


describe("conf/hardware", function()
  -- The driver's name, dense TFLOP/s of bf16 (fp16 where there is none), GB/s, SMs.
  local gpus = {
    { "NVIDIA A100-SXM4-40GB", 312, 1555, 108 }, { "NVIDIA A100-SXM4-80GB", 312, 2039, 108 },
    { "NVIDIA A100-PCIE-40GB", 312, 1555, 108 },
    { "NVIDIA A100 80GB PCIe", 312, 1935, 108 }, { "NVIDIA H100 80GB HBM3", 989.4, 3350, 132 },
    { "NVIDIA H100 PCIe", 756, 2000, 114 }, { "NVIDIA H200", 989.4, 4800, 132 },
    { "NVIDIA B200", 2250, 7700, 148 }, { "NVIDIA GH200 480GB", 989.4, 4000, 132 },
    { "NVIDIA GH200 144G HBM3e", 989.4, 4900, 132 }, { "NVIDIA L4", 121, 300, 58 },
    { "NVIDIA L40S", 362.05, 864, 142 }, { "NVIDIA A10", 125, 600, 72 },
    { "NVIDIA GeForce RTX 3090", 71, 936, 82 }, { "NVIDIA GeForce RTX 4090", 165.2, 1008, 128 },
    { "NVIDIA GeForce RTX 5090", 209.5, 1792, 170 },
    { "AMD Instinct MI300X", 1307.4, 5300, 304 }, { "AMD Instinct MI325X", 1307.4, 6000, 304 },
    { "AMD Instinct MI355X", 2516.6, 8000, 256 },
    { "Tesla V100-SXM2-16GB", 125, 900, 80 }, { "Tesla V100-SXM2-32GB", 125, 900, 80 },
    { "Tesla V100-PCIE-16GB", 112, 900, 80 }, { "Tesla V100-PCIE-32GB", 112, 900, 80 },
  }

  it("has every GPU by its driver's name", function()
    for _, gpu in ipairs(gpus) do
      local file = hardware.find(gpu[1])
      assert.same({ gpu[2] * 1e12, gpu[3] * 1e9, gpu[4] },
        { file.peak_per_s.bf16 or file.peak_per_s.fp16, file.bandwidth_bytes_per_s,
          file.sm_count }, gpu[1])
      assert.matches(gpu[1]:match "^%u%u+" or "NVIDIA", file.source)
    end
    assert.equal(#gpus, #files.names("conf/hardware", ".yaml"))
  end)

  -- 2 FLOP per fused multiply-add on 128 lanes (64 on GA100 and GV100) of each SM.
  it("has fp32 peaks that are those of its SMs at the boost clock", function()
    for _, gpu in ipairs(gpus) do
      local file = hardware.find(gpu[1])
      local lanes = gpu[1]:find "[AV]100" and 64 or 128
      local expected = 2 * lanes * file.sm_count * file.clock_hz.boost
      assert.is_true(math.abs(file.peak_per_s.fp32 / expected - 1) < 0.01, gpu[1])
    end
  end)

  -- GB/s in one direction, half of what data sheets say for both.
  it("has the links between GPUs, where every such GPU has them", function()
    for name, link in pairs { ["NVIDIA H200"] = { "NVLink", 450 },
      ["NVIDIA A100-SXM4-40GB"] = { "NVLink", 300 }, ["NVIDIA B200"] = { "NVLink", 900 },
      ["AMD Instinct MI300X"] = { "Infinity Fabric", 448 },
      ["NVIDIA L40S"] = { "PCIe", 32 }, ["NVIDIA GeForce RTX 5090"] = { "PCIe", 64 } } do
      assert.same({ name = link[1], bytes_per_s = link[2] * 1e9 }, hardware.link(name))
    end
    for _, name in ipairs { "NVIDIA A100-PCIE-40GB", "NVIDIA GeForce RTX 3090", "NVIDIA X1" } do
      assert.is_nil(hardware.link(name)) -- bridges are bought apart
    end
    for _, gpu in ipairs(gpus) do assert.truthy(hardware.find(gpu[1]).link_source) end
  end)

  it("takes no other GPU for one it knows", function()
    for _, name in ipairs { "NVIDIA A10G", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA H100 NVL",
      "NVIDIA A100", "H200", "" } do
      assert.is_nil(hardware.find(name))
    end
    assert.is_nil(hardware.find(nil))
    assert.equal("conf/hardware/h200.yaml", hardware.find("nvidia h200").file)
  end)
end)


describe("llmprof.model.hardware", function()
  it("takes a GPU's figures from its file", function()
    local gpu = describe_gpu("NVIDIA H200", { count = 2 })
    assert.same({ per_s = 989.4e12, source = "conf/hardware/h200.yaml", clock_hz = 1830e6 },
      gpu.peaks.bf16)
    assert.same({ per_s = 66.9e12, source = "conf/hardware/h200.yaml", clock_hz = 1980e6 },
      gpu.peaks.fp32)
    assert.same({ per_s = 4.8e12, source = "conf/hardware/h200.yaml" }, gpu.memory)
    assert.same({ 2, 132, {} }, { gpu.count, gpu.sm_count, gpu.missing })
    assert.is_nil(gpu.clock)
  end)

  it("scales peaks to the clock that was held", function()
    local gpu = describe_gpu("NVIDIA H200", { samples = {
      { sm_clock_mhz = 345, utilization_percent = 0 }, { utilization_percent = 100 },
      { sm_clock_mhz = 1500, utilization_percent = 90 },
      { sm_clock_mhz = 915, utilization_percent = 100 },
      { sm_clock_mhz = 800, utilization_percent = 100 } } })
    assert.same({ hz = 915e6, samples = 3,
      source = "median of the clocks sampled while a kernel ran" }, gpu.clock)
    assert.equal("494.70", ("%.2f"):format(gpu.peaks.bf16.at_held_clock_per_s / 1e12))
    assert.is_nil(gpu.memory.at_held_clock_per_s)
  end)

  it("takes those of an unknown GPU from ncu", function()
    local gpu = describe_gpu("NVIDIA X1", { launches = launches { launch(3e12, 4e14),
      launch(1e12, 2e14), launch(2e12, 3e14), { peak = { tensor = { int1 = 5e15 } } } } })
    local source = "ncu, at the clocks of its launches"
    assert.same({ per_s = 3e14, source = source }, gpu.peaks.bf16)
    assert.same({ per_s = 5e15, source = source }, gpu.peaks.int1)
    assert.same({ per_s = 60e12, source = source }, gpu.peaks.fp32)
    assert.same({ per_s = 2e12, source = source }, gpu.memory)
    assert.same({}, gpu.missing)
  end)

  it("takes the bandwidth from the trace, if nothing else has it", function()
    local gpu = describe_gpu(nil, { device = { name = "NVIDIA X1",
      bandwidth_bytes_per_s = 7e11, sm_count = 5 } })
    assert.same({ per_s = 7e11, source = "the trace's description of the device" }, gpu.memory)
    assert.equal(5, gpu.sm_count)
  end)

  it("says what is not known, and which key to set", function()
    assert.same({
      { what = "peak FLOP/s in bf16", why = "the GPU (NVIDIA X1) is not in conf/hardware, and no "
        .. "counter gives it", how = "hardware.peak_per_s=FLOP/s, or hardware.name=GPU" },
      { what = "memory bandwidth", why = "the GPU (NVIDIA X1) is not in conf/hardware, and no "
        .. "counter gives it",
        how = "hardware.bandwidth_bytes_per_s=byte/s, or hardware.name=GPU" },
    }, describe_gpu("NVIDIA X1").missing)
    assert.equal("the GPU (without a name) is not in conf/hardware, and no counter gives it",
      describe_gpu(nil).missing[1].why)
    assert.equal("conf/hardware/a10.yaml has none, and no counter gives it",
      describe_gpu("NVIDIA A10", { format = "fp8" }).missing[1].why)
  end)

  it("does as it is told", function()
    local gpu = describe_gpu("NVIDIA H200", { cfg = { peak_per_s = 5e14,
      bandwidth_bytes_per_s = 2e12 } })
    assert.same({ per_s = 5e14, source = "hardware.peak_per_s" }, gpu.peaks.bf16)
    assert.same({ per_s = 2e12, source = "hardware.bandwidth_bytes_per_s" }, gpu.memory)
    assert.equal("conf/hardware/l4.yaml", describe_gpu("NVIDIA X1", { cfg = { name = "l4" } }).file)
  end)

  it("says what each GPU can do", function()
    local function of(cfg, ...) return hardware.limits({ ... }, cfg) end
    local h200, x1 = { id = 0, name = "NVIDIA H200", bandwidth = 1 }, { id = 1, name = "X1",
      bandwidth = 3e12 }
    local limits = of({}, h200, x1)
    assert.same({ 4.8e12, 989.4e12, 3e12 }, { limits(0).dram, limits(0).bf16, limits(1).dram })
    assert.same({}, limits(2))
    assert.equal(4.8e12, of({}, h200)(7).dram)
    assert.same({}, of({}, { id = 0, name = "X1", bandwidth = 0 })(0))
    assert.same({}, of({})(0))
    assert.equal(2e12, of({ bandwidth_bytes_per_s = 2e12 }, h200)(0).dram)
    assert.equal(300e9, of({ name = "l4" }, x1)(1).dram)
  end)

  it("tells from what was described how it was set", function()
    assert.same({}, hardware.settings(describe_gpu "NVIDIA H200"))
    assert.same({ name = "l4", bandwidth_bytes_per_s = 2e12 }, hardware.settings(
      describe_gpu("NVIDIA H200", { cfg = { name = "l4", bandwidth_bytes_per_s = 2e12 } })))
  end)

  it("knows which GPUs there are", function()
    assert.same({ "usage", "hardware.name: no GPU 'h20' (did you mean 'h200'?)",
      "there are: " .. table.concat(files.names("conf/hardware", ".yaml"), ", ") },
      failure(describe_gpu, nil, { cfg = { name = "h20" } }))
  end)
end)


describe("a broken file of conf/hardware", function()
  local function said(text)
    return failure(hardware.read, text, "mine.yaml")[2]
  end

  local good = "names: [X]\nsource: S\nmemory_bytes: 1e9\nsm_count: 1\nclock_hz: { boost: 1, "
    .. "tensor: 1 }\n"

  it("is named by key", function()
    assert.equal("mine.yaml: bandwidth_bytes_per_s: missing",
      said(good .. "peak_per_s: { bf16: 1 }\n"))
    assert.equal("mine.yaml: peak_per_s.bf16: a number above 0 is expected, not 0",
      said(good .. "bandwidth_bytes_per_s: 1\npeak_per_s: { bf16: 0 }\n"))
    assert.equal("mine.yaml: link_bytes_per_s.pcie: a number above 0 is expected, not 0",
      said(good .. "bandwidth_bytes_per_s: 1\npeak_per_s: {}\nlink_bytes_per_s: { pcie: 0 }\n"))
    assert.matches("mine.yaml: peak_per_s.bf16: a number above 0 is expected, not %-?nan",
      said(good .. "bandwidth_bytes_per_s: 1\npeak_per_s: { bf16: .nan }\n"))
    assert.equal("mine.yaml: bandwidth_bytes_per_s: a number above 0 is expected, "
      .. "not -1", said(good .. "bandwidth_bytes_per_s: -1\npeak_per_s: { bf16: 1 }\n"))
  end)
end)
