-- Watching the GPUs while something runs: clocks, power, temperature, what
-- throttles them. Sampled from the process that waits, so it costs the workload
-- nothing.
local gpu = require "llmprof.gpu"
local json = require "llmprof.json"
local sorted_keys = require("llmprof.tables.keys").sorted
local sys = require "llmprof.sys"
local text = require "llmprof.text"

local gpu_watch = {}

-- Between samples, in ns.
local PERIOD = 200 * 1000 * 1000


-- { sample(), stop() -> list, latest (the last sample by index), reason (why there
-- is no GPU to watch) }: sample takes one if the last is old enough. A sample:
-- { t_ns (since the start), index, and what llmprof.gpu's sample has }.
function gpu_watch.start()
  local devices, reason = gpu.list()
  local started, last, samples, latest = sys.monotonic(), nil, {}, {}

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
        latest[device.index] = taken
      end
    end
  end

  return { sample = sample, latest = latest, reason = reason, stop = function()
    sample()
    return samples
  end }
end


-- ---- for people ----

-- How the GPUs are doing, by field: what a sample is merged into over time, and
-- its words. What NVML does not tell is left out.
local shown = {
  { "utilization_percent", "mean", function(value) return ("%.0f %% busy"):format(value) end },
  { "memory_used_bytes", "max", function(value, device)
    local total = device.memory_total_bytes
    local used = text.bytes(value, { digits = 1 })
    return total and ("%s of %s"):format(used, text.bytes(total, { digits = 0 })) or used
  end },
  { "power_w", "mean", function(value) return ("%.0f W"):format(value) end },
  { "sm_clock_mhz", "mean", function(value) return ("SM %.0f MHz"):format(value) end },
  { "memory_clock_mhz", "mean", function(value) return ("memory %.0f MHz"):format(value) end },
}


-- One value out of those of some samples; nil when none has it.
local function merged(samples, field, how)
  local count, sum, most = 0, 0, nil
  for _, sample in ipairs(samples) do
    local value = sample[field]
    if value then count, sum, most = count + 1, sum + value, math.max(most or value, value) end
  end
  if how == "max" or count == 0 then return most end
  return sum / count
end


local function words_of(index, samples)
  local words = {}
  for _, entry in ipairs(shown) do
    local field, how, say = table.unpack(entry)
    local value = merged(samples, field, how)
    if value then words[#words + 1] = say(value, samples[1]) end
  end
  return ("GPU %d: %s"):format(index,
    #words > 0 and table.concat(words, ", ") or "NVML tells nothing")
end


-- A line for each GPU of a list of samples: means, of memory the most.
function gpu_watch.describe(samples)
  local by_index, lines = {}, {}
  for _, sample in ipairs(samples) do
    by_index[sample.index] = by_index[sample.index] or {}
    table.insert(by_index[sample.index], sample)
  end
  for i, index in ipairs(sorted_keys(by_index)) do lines[i] = words_of(index, by_index[index]) end
  return lines
end


-- How the GPUs are doing now, in one line; nil before the first sample.
function gpu_watch.now(watch)
  local samples = {}
  for _, index in ipairs(sorted_keys(watch.latest)) do
    samples[#samples + 1] = watch.latest[index]
  end
  return #samples > 0 and table.concat(gpu_watch.describe(samples), "; ") or nil
end


return gpu_watch
