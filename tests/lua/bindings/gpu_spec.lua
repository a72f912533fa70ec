local gpu = require "llmprof.gpu"
local lfs = require "lfs"

-- The stand-ins for NVML lie beside the C tests of the build that runs this.
local build = lfs.symlinkattributes("/proc/self/exe", "target"):match "^(.*)/bin/"

local function open(variant)
  return assert(gpu.open(build .. "/tests/c/libfake_nvml_" .. variant .. ".so"))
end

local function sample_of(throttle)
  return {
    sm_clock_mhz = 345, memory_clock_mhz = 3201, power_w = 76.543, energy_j = 5000000.25,
    temperature_c = 51, utilization_percent = 97, memory_busy_percent = 0,
    memory_used_bytes = 1073741824, memory_total_bytes = 150754820096,
    throttle = throttle,
  }
end

local function device_of(index, throttle)
  local device = sample_of(throttle)
  device.index = index
  device.name = "NVIDIA H200"
  device.uuid = "GPU-00000000-0000-0000-0000-00000000000" .. index
  device.pci_bus_id = "00000000:41:00.0"
  device.compute_capability = "9.0"
  device.driver_version = "580.159.04"
  device.cuda_version = "12.8"
  device.sm_clock_max_mhz = 1980
  device.memory_clock_max_mhz = 3202
  device.power_limit_w = 700.0
  device.mig = false
  device.persistence = true
  return device
end

describe("llmprof.gpu", function()
  it("lists devices, also those that may not be used", function()
    local list, reason = open("full"):list()
    assert.is_nil(reason)
    assert.same({
      device_of(0, {}),
      { index = 1, error = "GPU 1: Insufficient Permissions" },
      device_of(2, { "sw_power_cap", "hw_power_brake_slowdown", "bit_40" }),
    }, list)
    assert.equal("integer", math.type(list[1].memory_total_bytes))
  end)

  it("samples", function()
    assert.same(sample_of {}, open("full"):sample(0))
  end)

  it("leaves out what a device does not support", function()
    local list, reason = open("mute"):list()
    assert.same({ { index = 0 } }, list)
    assert.is_nil(reason)
    assert.same({}, open("mute"):sample(0))
  end)

  it("gives an empty list and a reason without devices", function()
    for variant, expected in pairs {
      nodriver = "NVML: Driver Not Loaded", empty = "NVML: no device",
    } do
      local list, reason = open(variant):list()
      assert.same({}, list)
      assert.equal(expected, reason)
    end
    local list, reason = gpu.open("/proc/none.so"):list()
    assert.same({}, list)
    assert.equal("no NVML: /proc/none.so: cannot open shared object file: "
      .. "No such file or directory", reason)
  end)

  it("says why there is no sample", function()
    local devices = open "full"
    assert.same({ nil, "no GPU 9: there are 3, counted from 0", "notfound" },
      { devices:sample(9) })
    assert.same({ nil, "GPU 1: Insufficient Permissions", "denied" },
      { devices:sample(1) })
    assert.same({ nil, "GPU 0: GPU is lost", "io" }, { open("lost"):sample(0) })
  end)

  it("answers on this machine, whatever it has", function()
    local list, reason = gpu.list()
    assert.equal(#list == 0, reason ~= nil)
    local now, message, code = gpu.sample(#list)
    assert.is_nil(now)
    assert.truthy(message:find("no GPU " .. #list .. ": ", 1, true))
    assert.equal("notfound", code)
  end)

  it("refuses closed devices and wrong arguments", function()
    local devices = open "full"
    devices:close()
    devices:close()
    assert.has_error(function() devices:list() end,
      "calling 'list' on bad self (llmprof.gpu.devices is closed)")
    assert.has_error(function() devices:sample(0) end,
      "calling 'sample' on bad self (llmprof.gpu.devices is closed)")
    assert.has_error(function() gpu.sample(-1) end,
      "bad argument #1 to 'sample' (index must not be negative)")
    assert.has_error(function() gpu.sample() end,
      "bad argument #1 to 'sample' (number expected, got no value)")
    assert.has_error(function() gpu.open {} end,
      "bad argument #1 to 'open' (string expected, got table)")
  end)
end)
