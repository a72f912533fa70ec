local gpu = require "llmprof.gpu"
local json = require "llmprof.json"
local live = require "tests.lua.support.live"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

-- What a table of Lua is in a program with this stand-in for NVML.
local function ask(variant, code)
  local lines = {}
  assert(spawn.run({ sys.executable(), "-e", 'gpu = require "llmprof.gpu"\n'
    .. "print(require('llmprof.json').encode(" .. code .. "))" },
    { env = { LD_LIBRARY_PATH = live.nvml(variant) }, stderr = "inherit",
      on_line = function(line) lines[#lines + 1] = line end }))
  return assert(json.decode(table.concat(lines)))
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
  after_each(live.clean)

  it("lists devices, also those that may not be used", function()
    local list = ask("full", "(gpu.list())")
    assert.same({
      device_of(0, {}),
      { index = 1, error = "GPU 1: Insufficient Permissions" },
      device_of(2, { "sw_power_cap", "hw_power_brake_slowdown", "bit_40" }),
    }, list)
    assert.equal("integer", math.type(list[1].memory_total_bytes))
  end)

  it("samples", function()
    assert.same(sample_of {}, ask("full", "gpu.sample(0)"))
  end)

  it("leaves out what a device does not support", function()
    assert.same({ { { index = 0 } }, {} }, ask("mute", "{ gpu.list(), gpu.sample(0) }"))
  end)

  it("gives an empty list and a reason without devices", function()
    for variant, expected in pairs {
      nodriver = "NVML: Driver Not Loaded", empty = "NVML: no device",
    } do
      assert.same({ {}, expected }, ask(variant, "{ gpu.list() }"))
    end
  end)

  it("says why there is no sample", function()
    for _, case in ipairs {
      { "full", 9, "no GPU 9: there are 3, counted from 0", "notfound" },
      { "full", 1, "GPU 1: Insufficient Permissions", "denied" },
      { "lost", 0, "GPU 0: GPU is lost", "io" },
    } do
      assert.same({ case[3], case[4] },
        ask(case[1], ("{ select(2, gpu.sample(%d)) }"):format(case[2])))
    end
  end)

  it("answers on this machine, whatever it has", function()
    local list, reason = gpu.list()
    assert.equal(#list == 0, reason ~= nil)
    local now, message, code = gpu.sample(#list)
    assert.is_nil(now)
    assert.truthy(message:find("no GPU " .. #list .. ": ", 1, true))
    assert.equal("notfound", code)
  end)

  it("refuses wrong arguments", function()
    assert.has_error(function() gpu.sample(-1) end,
      "bad argument #1 to 'sample' (index must not be negative)")
    assert.has_error(function() gpu.sample() end,
      "bad argument #1 to 'sample' (number expected, got no value)")
  end)
end)
