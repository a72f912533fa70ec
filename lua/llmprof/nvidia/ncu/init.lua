-- llmprof.nvidia.ncu: what Nsight Compute measured, and the collector as it would.
--
--   local ncu = require "llmprof.nvidia.ncu"
--   local launches = assert(ncu.launches "raw.csv")        -- ncu -i X --csv --page raw
--   for i = 1, #launches do print(launches:get(i, "flop.total")) end
--
-- ncu.launches(path, limits) -> launches | nil, message, code
--   Of a raw page: figures of all launches as columns (llmprof.nvidia.ncu.launches). Codes
--   are those of llmprof.csv (notfound, denied, io, syntax, ...); empty: a good file without
--   launches; unsupported: CSV, but no raw page. limits (optional): what the GPUs can do at
--   most, of llmprof.model.hardware.
-- ncu.launches_of_recording(path, limits)       the same of a collector's recording: as a
--   page of it would have them, with what says which launch of the timeline each is
--
-- Figures by their paths. What was not measured is nil, never 0. Percentages are 0..100.
--   duration           s; duration_ns in ns
--   bytes              dram, dram_read, dram_write, l2, l1
--   flop               fp64, fp32, fp16 (vector units), tensor (tensor cores,
--                      floating point), total
--   tensor             operations by source type: bf16, fp16, tf32, fp8, fp64,
--                      int8, int4, int1, ...: FLOP, or OP for integers
--   rate               dram, l2, l1 (byte/s); fp64, fp32, fp16, tensor, total
--                      (FLOP/s)
--   peak               dram, l2, l1 (byte/s); fp64, fp32, fp16 (FLOP/s);
--                      tensor by source type, dense (FLOP/s or OP/s)
--   intensity          dram, l2, l1: flop.total per byte
--   throughput         sm, memory, dram, l2, l1, tensor: % of peak sustained
--   occupancy          theoretical, achieved (%), warps_theoretical,
--                      warps_achieved (per SM); limits (blocks per SM by
--                      registers, shared_mem, warps, blocks, barriers)
--   registers          per thread
--   shared             total, static, dynamic, driver (bytes per block)
--   waves              of blocks over all SMs
--
-- llmprof.nvidia.ncu.figures has the formulas, and docs/metrics.md what they mean. flop.fp16 is an
-- upper bound: HFMA also moves data. flop.total has it if hadd or hmul ran at all, and is nil
-- unless fp32 and tensor are there.
-- Clocks are those of the launch, so peaks differ a little between launches.
-- ncu flushes caches and runs kernels alone: take times from nsys.
--
-- For ncu --kernel-name, which by default matches a function's base name (nsys's short name), see
-- --kernel-name-base: ncu.filter_regex and ncu.filter_room below.
local launches = require "llmprof.nvidia.ncu.launches"
local lists = require "llmprof.tables.lists"

local ncu = {}

-- ---- what bounds a kernel ----

-- What limits a launch: the unit that is used most, where that is much, by the
-- rule of thumb of ncu's SpeedOfLight section. A unit that was not measured is not idle,
-- and a class that depends on it is not known.

-- Percent of peak. Below this no unit is kept busy and the launch waits for
-- latency, as with a grid too small.
ncu.LOW = 60

-- No unit gets this far above its peak: its counters, the time or the peak is wrong.
local MOST = 110

-- A grid below one wave cannot fill the GPU.
ncu.FULL_WAVE = 1

-- Fields of a launch's throughput and the units that they are of, from the roof
-- inwards. Of units that are about as busy the first is named: what DRAM cannot give
-- keeps L2 no less busy, and what a pipe of an SM does had to be issued.
ncu.units = { { "dram", "DRAM" }, { "l2", "L2" }, { "l1", "L1" }, { "tensor", "tensor" },
  { "fp32", "fp32" }, { "fp64", "fp64" }, { "alu", "ALU" }, { "xu", "XU" }, { "lsu", "LSU" },
  { "tex", "TEX" }, { "adu", "ADU" }, { "uniform", "uniform" }, { "mio", "MIO" },
  { "issue", "issue" } }

-- The fields of a launch's throughput: those, and what ncu sums up of several units.
ncu.throughputs = { "sm", "memory" }
for i, unit in ipairs(ncu.units) do ncu.throughputs[i + 2] = unit[1] end

-- A unit is as busy as the busiest from this part of its percent on: what streams from DRAM keeps
-- the link between the halves of L2 busier than DRAM, 86.7 and 80.9 %.
local AS_BUSY = 0.9

-- Percentage points by which a sum is above its units for nothing.
local ALIKE = 5


-- The first of these fields that is as busy as any, by its name; its percent, and that of the
-- busiest.
local function busiest(throughput, fields)
  local _, most = lists.largest(fields, function(field) return throughput[field[1]] end)
  for _, field in ipairs(most and fields or {}) do
    local percent = throughput[field[1]]
    if percent and percent >= AS_BUSY * most then return field[2], percent, most end
  end
end


-- Parts of a GPU, the fields that tell of all of it, and ncu's sum that does.
local PARTS = { { "DRAM", { "dram" }, "memory" }, { "L2", { "l2" }, "memory" },
  { "L1", { "l1" }, "memory" }, { "SM", {}, "sm" } }
for i = 4, #ncu.units do PARTS[4][2][i - 3] = ncu.units[i][1] end


-- Which parts are not known, and why: of some the bytes are, but not what they are held to; "" for
-- none.
local function missing(throughput, bytes)
  local unmeasured, peakless, said = {}, {}, {}
  for _, part in ipairs(PARTS) do
    local is_known = throughput[part[3]]
      or not lists.any(part[2], function(field) return not throughput[field] end)
    if not is_known then
      local list = bytes[part[2][1]] and peakless or unmeasured
      list[#list + 1] = part[1]
    end
  end
  if #unmeasured > 0 then said[1] = table.concat(unmeasured, ", ") .. " not measured" end
  if #peakless > 0 then
    said[#said + 1] = ("peak of %s not known"):format(table.concat(peakless, ", "))
  end
  return table.concat(said, ", ")
end


-- Why nothing is said of the unit that decides; nil where it is. L2 and L1 are busy where DRAM is:
-- without it nothing says which of them decides.
local function doubt(throughput, bytes, unit, percent)
  if not percent and not next(bytes) then return "no throughput was measured" end
  if percent and percent > MOST then
    return ("%s at %.0f %% of its peak cannot be"):format(unit, percent)
  elseif percent and percent >= ncu.LOW then
    local hidden = (unit == "L2" or unit == "L1") and not throughput.dram
    return hidden and (bytes.dram and "peak of DRAM not known" or "DRAM not measured") or nil
  end
  local why = missing(throughput, bytes)
  return why ~= "" and why or nil
end


-- class, reason, numbers of a launch: throughput (% by unit), waves, bytes (dram, l2), as far as
-- they are known. class: the unit with the largest share of its peak, if that reaches 60 %: DRAM,
-- L2, L1, tensor, fp32, fp64, ALU, issue; "some SM unit", "L2 or L1", "DRAM, L2 or L1" where ncu's
-- sum over units is above those that were measured, and so of one that was not; "latency" below,
-- where all are known; "unknown" where it depends on one that is not, L2 and L1 on DRAM, and where
-- one is above 110 %. numbers: unit, percent (of the busiest), waves, low.
function ncu.bound(launch)
  local throughput = launch.throughput
  local unit, percent, most = busiest(throughput, ncu.units)
  local sum, of_sum = busiest(throughput, { { "sm", "some SM unit" },
    { "memory", throughput.dram and "L2 or L1" or "DRAM, L2 or L1" } })
  if of_sum and (not percent or of_sum > most + ALIKE) then unit, percent = sum, of_sum end
  local numbers = { unit = unit, percent = percent, waves = launch.waves, low = ncu.LOW }
  local why = doubt(throughput, launch.bytes or {}, unit, percent)
  if why then return "unknown", why, numbers end
  local said = ("%s %.1f %% of its peak"):format(unit, percent)
  if percent >= ncu.LOW then return unit, said, numbers end
  local small = launch.waves and launch.waves < ncu.FULL_WAVE
    and ("; the grid is %.2f of a wave"):format(launch.waves) or ""
  return "latency", ("no unit at %d %%, at most %s%s"):format(ncu.LOW, said, small), numbers
end


-- One argument of a Linux program, its end included, has at most 128 KiB.
local MAX_ARGUMENT = 128 * 1024 - 1


ncu.launches = launches.of_page
ncu.launches_of_recording = launches.of_recording


-- Only what every regex dialect takes as special is escaped: in some, "\<"
-- is the start of a word.
local function escape(name) return (name:gsub("[\\^$.|?*+()%[%]{}]", "\\%0")) end


local function put(list) return "regex:^(" .. table.concat(list, "|") .. ")$" end


local function is_name(name) return type(name) == "string" and name ~= "" and not name:find "%z" end


-- Bytes of a name in such a filter, of ncu.FILTER_ROOM; nil for what cannot be asked for.
function ncu.filter_room(name)
  if not is_name(name) then return nil end
  return #escape(name) + 1
end


ncu.FILTER_ROOM = MAX_ARGUMENT - #put {}


-- "regex:^(a|b)$", exactly these names; or nil, message, code.
function ncu.filter_regex(names)
  assert(#names > 0, "filter_regex: no names")
  local seen, list = {}, {}
  for i, name in ipairs(names) do
    assert(is_name(name), "filter_regex: name " .. i .. " is no kernel name")
    if not seen[name] then
      seen[name] = true
      list[#list + 1] = escape(name)
    end
  end
  local regex = put(list)
  if #regex > MAX_ARGUMENT then
    return nil, ("filter_regex: %d names take %d bytes, an argument holds %d")
      :format(#list, #regex, MAX_ARGUMENT), "limit"
  end
  return regex
end


return ncu
