-- Watching the GPUs while something runs: clocks, power, temperature, what
-- throttles them. Sampled from the process that waits, so it costs the workload
-- nothing.
local gpu = require "llmprof.gpu"
local json = require "llmprof.json"
local sys = require "llmprof.sys"

local gpu_watch = {}

-- Between samples, in ns.
local PERIOD = 200 * 1000 * 1000


-- { sample(), stop() -> list }: sample takes one if the last is old enough. A
-- sample: { t_ns (since the start), index, and what llmprof.gpu's sample has }.
function gpu_watch.start()
  local devices = gpu.list()
  local started, last, samples = sys.monotonic(), nil, {}

  local function sample()
    local now = sys.monotonic()
    if last and now - last < PERIOD then return end
    last = now
    for _, device in ipairs(devices) do
      local taken = not device.error and gpu.sample(device.index)
      if taken then
        taken.t_ns, taken.index = now - started, device.index
        taken.throttle = taken.throttle and json.list(taken.throttle)
        samples[#samples + 1] = taken
      end
    end
  end

  return { sample = sample, stop = function()
    sample()
    return samples
  end }
end


return gpu_watch
