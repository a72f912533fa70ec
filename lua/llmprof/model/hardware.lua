-- What a GPU could do at most: conf/hardware/*.yaml, found by the device's name.
--
-- Such a file has the fields below: names are what drivers call the device, peaks dense operations
-- per second by number format (fp64 and fp32 on the vector units), links of all of the GPU together
-- in one direction (nvlink_bridge where cards may be joined by one or not), the price (USD) a round
-- example of what an hour costs.
--
-- Each figure is taken from the first that has it: the configuration
-- (hardware.*), the file, ncu's columns, and for the bandwidth the trace's own
-- description of the device. Where each is from is written beside it.
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local lists = require "llmprof.tables.lists"
local nearest = require "llmprof.tables.keys"
local schema = require "llmprof.model.schema"
local statistics = require "llmprof.statistics"
local yaml = require "llmprof.yaml"

local hardware = {}

local FOLDER = "conf/hardware"

local NUMBER, PERHAPS = { "number" }, { "number", false }

local FIELDS = {
  names = { "table" },
  source = { "text" },
  memory_bytes = { "number" },
  bandwidth_bytes_per_s = { "number" },
  sm_count = { "count" },
  clock_hz = { "table", fields = { boost = NUMBER, tensor = NUMBER } },
  peak_per_s = { "table", each = "number" },
  link_bytes_per_s = { "table", false, fields = { nvlink = PERHAPS, nvlink_bridge = PERHAPS,
    infinity_fabric = PERHAPS, pcie = PERHAPS } },
  link_source = { "text", false },
  price_per_hour = { "number", false },
}

-- Formats that run on the vector units, whose clock is the boost clock.
local VECTOR = { fp64 = true, fp32 = true }


-- ---- files ----

-- A file's contents as a checked table; where names it in errors.
function hardware.read(contents, where)
  local given = errors.check_as("usage", yaml.decode(contents, { name = where }))
  local made = schema.read(given, FIELDS, where)
  made.file = where
  return made
end


local function read_file(name) return files.read(("%s/%s.yaml"):format(FOLDER, name)) end


-- The description of the GPU that conf/hardware has under this name. what: that names it, in
-- errors.
function hardware.load(name, what)
  local contents, where
  if name:find "^[%w_-]+$" then contents, where = read_file(name) end
  if contents then return hardware.read(contents, where) end
  local known = files.names(FOLDER, ".yaml")
  errors.raise("usage", ("%s: no GPU '%s'%s"):format(what or "hardware.name", name,
    nearest.suggestion(name, known)), { hint = "there are: " .. table.concat(known, ", ") })
end


-- The file that names this device, or nil. Files in which the name stands nowhere are not decoded.
function hardware.find(device_name)
  if not device_name then return nil end
  local wanted = device_name:lower()
  local function is_wanted(alias) return alias:lower() == wanted end
  for _, name in ipairs(files.names(FOLDER, ".yaml")) do
    local contents, where = read_file(name)
    if contents:lower():find(wanted, 1, true) then
      local made = hardware.read(contents, where)
      if lists.any(made.names, is_wanted) then return made end
    end
  end
  return nil
end


-- Is the first of these devices AMD's?
function hardware.is_amd(devices)
  return devices ~= nil and devices[1] ~= nil and (devices[1].name or ""):find "^AMD " ~= nil
end


-- The link over which GPUs of this name reach each other in one node: { name ("NVLink",
-- "PCIe"), bytes_per_s (in one direction) }; nil where it is not known, as where cards may
-- be joined by a bridge.
function hardware.link(device_name)
  local known = hardware.find(device_name)
  local speeds = known and known.link_bytes_per_s
  if not speeds or speeds.nvlink_bridge then return nil end
  if speeds.nvlink then return { name = "NVLink", bytes_per_s = speeds.nvlink } end
  if speeds.infinity_fabric then
    return { name = "Infinity Fabric", bytes_per_s = speeds.infinity_fabric }
  end
  return speeds.pcie and { name = "PCIe", bytes_per_s = speeds.pcie } or nil
end


-- ---- what was measured ----

-- Median over launches (of llmprof.nvidia.ncu.launches) of a peak that ncu reports, and where it is
-- from; no median when none has it.
local function from_launches(launches, path)
  return { statistics.median(lists.map(launches and launches:values(path) or {}, function(value)
    return value or nil
  end)) or false, "ncu, at the clocks of its launches" }
end


-- The clock that was held: the median over samples in which a kernel ran. nil
-- without such samples.
local function held_clock(samples)
  local values = lists.map(samples or {}, function(sample)
    return (sample.utilization_percent or 0) > 0 and sample.sm_clock_mhz
      and sample.sm_clock_mhz * 1e6 or nil
  end)
  local median = statistics.median(values)
  return median and { hz = median, samples = #values,
    source = "median of the clocks sampled while a kernel ran" } or nil
end


-- The first candidate that has a value, which 0 is not: list of { value, source }.
local function first(candidates)
  local known = lists.filtered(candidates, function(candidate)
    return candidate[1] and candidate[1] > 0
  end)[1]
  return known and { per_s = known[1], source = known[2] }
end


-- What a GPU can do at most, per second, by what: "dram" (bytes) and number formats
-- (operations), as far as the configuration, its file or the trace says.
local function limits_of(device, cfg)
  local file = cfg.name and hardware.load(cfg.name) or hardware.find(device.name)
  local dram = first { { cfg.bandwidth_bytes_per_s }, { file and file.bandwidth_bytes_per_s },
    { device.bandwidth } }
  local made = { dram = dram and dram.per_s }
  for format, per_s in pairs(file and file.peak_per_s or {}) do made[format] = per_s end
  return made
end


-- A function from a GPU's number to its limits, empty where they are not known. devices: as
-- of a trace ({ id, name, bandwidth in byte/s }); one that is not among them may be any of
-- them, and has limits where all are of one name. cfg: the configuration's hardware table.
function hardware.limits(devices, cfg)
  local by_id, any = {}, limits_of(devices[1] or {}, cfg)
  for _, device in ipairs(devices) do
    if device.id then by_id[device.id] = limits_of(device, cfg) end
    if device.name ~= devices[1].name then any = {} end
  end
  return function(id) return by_id[id] or any end
end


-- Where a described bandwidth is set, not known.
local SET = "hardware.bandwidth_bytes_per_s"

-- The configuration's hardware table, as far as what hardware.describe made of it tells.
function hardware.settings(described)
  local file, memory = described.file, described.memory
  local known = hardware.find(described.name)
  local is_named = file and not (known and known.file == file)
  return { name = is_named and file:match "([^/]+)%.yaml$" or nil,
    bandwidth_bytes_per_s = memory and memory.source == SET and memory.per_s or nil }
end


local function peak_of(known, file, launches, format)
  local tensor = not VECTOR[format]
  local peak = first {
    { file and file.peak_per_s[format], file and file.file },
    from_launches(launches, (tensor and "peak.tensor." or "peak.") .. format),
  }
  if not peak then return nil end
  if file and peak.source == file.file then
    peak.clock_hz = tensor and file.clock_hz.tensor or file.clock_hz.boost
  end
  if known and peak.clock_hz then
    peak.at_held_clock_per_s = peak.per_s * known.hz / peak.clock_hz
  end
  return peak
end


-- Entries for results.missing: what is not known, and the key to set.
local function missing_of(made, format)
  local why = made.file and ("%s has none, and no counter gives it"):format(made.file)
    or ("the GPU (%s) is not in conf/hardware, and no counter gives it"):format(
      made.name or "without a name")
  local list = {}
  if not made.peaks[format] then
    list[1] = { what = "peak FLOP/s in " .. format, why = why,
      how = "hardware.peak_per_s=FLOP/s, or hardware.name=GPU" }
  end
  if not made.memory then
    list[#list + 1] = { what = "memory bandwidth", why = why,
      how = "hardware.bandwidth_bytes_per_s=byte/s, or hardware.name=GPU" }
  end
  return list
end


local function formats_of(file, launches, wanted)
  local seen = { [wanted] = true, fp32 = true }
  for format in pairs(file and file.peak_per_s or {}) do seen[format] = true end
  for path in pairs(launches and launches.has or {}) do
    local format = path:match "^peak%.tensor%.(.+)$"
    if format then seen[format] = true end
  end
  return seen
end


-- given: device (of the trace, as results.environment.devices has it; may be
-- nil), count (GPUs that worked), cfg (the configuration's hardware table),
-- launches (of llmprof.nvidia.ncu.launches), samples (of gpu_watch), format (what products are
-- computed in).
-- Returns { name, count, file, source, format, peaks (by format), memory, l2,
-- clock, missing }: peaks and memory are { per_s, source } of one GPU, peaks of
-- a file with clock_hz and, where the clock was sampled, at_held_clock_per_s.
function hardware.describe(given)
  local cfg, device = given.cfg or {}, given.device or {}
  local file = cfg.name and hardware.load(cfg.name) or hardware.find(device.name)
  local made = { name = device.name, count = math.max(given.count or 1, 1), format = given.format,
    file = file and file.file, source = file and file.source, peaks = {},
    sm_count = file and file.sm_count or device.sm_count,
    clock = held_clock(given.samples) }
  for format in pairs(formats_of(file, given.launches, given.format)) do
    made.peaks[format] = peak_of(made.clock, file, given.launches, format)
  end
  if cfg.peak_per_s then
    made.peaks[given.format] = { per_s = cfg.peak_per_s, source = "hardware.peak_per_s" }
  end
  made.memory = first {
    { cfg.bandwidth_bytes_per_s, SET },
    { file and file.bandwidth_bytes_per_s, file and file.file },
    from_launches(given.launches, "peak.dram"),
    { device.bandwidth_bytes_per_s, "the trace's description of the device" },
  }
  made.l2 = first { from_launches(given.launches, "peak.l2") }
  made.missing = missing_of(made, given.format)
  return made
end


return hardware
