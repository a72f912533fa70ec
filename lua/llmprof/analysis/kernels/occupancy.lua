-- How many blocks of a kernel an SM holds, what limits that, and in how many rounds (waves)
-- its grid runs: from the launch configuration and the chip's limits, without a counter.
--
-- An SM gives registers to warps, in units and by its four parts, and shared memory to
-- blocks, with what the driver keeps for each. Barriers, which traces do not record, and
-- clusters are not looked at. Blocks that end early make room, so waves are those of blocks
-- that all take the same time.
local lists = require "llmprof.tables.lists"
local rows = require "llmprof.ranks.rows"

local occupancy = { where = { "trace" }, reads = { "kernels" }, gives = {} }

-- By compute capability: warps and blocks of an SM, and its shared memory (bytes), of the
-- CUDA C++ Programming Guide, Technical Specifications per Compute Capability.
local CHIPS = {
  ["7.0"] = { warps = 64, blocks = 32, shared = 96 << 10, reserved = 0, unit = 256 },
  ["7.5"] = { warps = 32, blocks = 16, shared = 64 << 10, reserved = 0, unit = 256 },
  ["8.0"] = { warps = 64, blocks = 32, shared = 164 << 10 },
  ["8.6"] = { warps = 48, blocks = 16, shared = 100 << 10 },
  ["8.7"] = { warps = 48, blocks = 16, shared = 164 << 10 },
  ["8.9"] = { warps = 48, blocks = 24, shared = 100 << 10 },
  ["9.0"] = { warps = 64, blocks = 32, shared = 228 << 10 },
  ["10.0"] = { warps = 64, blocks = 32, shared = 228 << 10 },
  ["10.3"] = { warps = 64, blocks = 32, shared = 228 << 10 },
  ["12.0"] = { warps = 48, blocks = 24, shared = 100 << 10 },
}

-- Of all of them: registers of one of the four parts of an SM, the unit in which a warp gets
-- them; since 8.0 the shared memory that the driver keeps for a block, and its unit.
local PARTS, PART_REGISTERS, REGISTER_UNIT, RESERVED, SHARED_UNIT = 4, 16384, 256, 1024, 128

local WARP = 32


local function round_up(value, unit) return (value + unit - 1) // unit * unit end


-- Blocks that an SM holds by each limit: registers, shared_mem, warps, blocks (absent: it limits
-- nothing); nil where chip, registers or shared memory are not known. Then the warps of a
-- block, and the chip.
function occupancy.limits(shape, capability)
  local chip = CHIPS[capability]
  if not chip or not (shape.block and shape.registers and shape.shared_bytes) then return nil end
  local threads = shape.block[1] * shape.block[2] * shape.block[3]
  local warps = round_up(threads, WARP) // WARP
  if warps == 0 then return nil end
  local registers = round_up(shape.registers * WARP, REGISTER_UNIT)
  local shared = round_up(shape.shared_bytes + (chip.reserved or RESERVED),
    chip.unit or SHARED_UNIT)
  return { blocks = chip.blocks, warps = chip.warps // warps,
    registers = registers > 0 and PART_REGISTERS // registers * PARTS // warps or nil,
    shared_mem = shared > 0 and chip.shared // shared or nil }, warps, chip
end


-- In the order in which they are named where they are equal.
local NAMES = { { "registers", "registers" }, { "shared_mem", "shared memory" },
  { "warps", "the block's size" }, { "blocks", "blocks per SM" }, { "barriers", "barriers" } }

-- A grid of less than one wave.
occupancy.GRID = "the grid's size"


-- The smallest of the limits that blocks_of(limit) knows, in blocks, and what it is called.
function occupancy.least(blocks_of)
  local least, name = math.huge, nil
  for _, entry in ipairs(NAMES) do
    local blocks = blocks_of(entry[1])
    if blocks and blocks < least then least, name = blocks, entry[2] end
  end
  return least, name
end


-- What follows for a shape (results.json, launch): { occupancy_percent, limiter (nil where an SM
-- is full), waves, tail_share }; nil where the chip or the shape is not known. sm_count may be
-- nil.
function occupancy.of(shape, capability, sm_count)
  local limits, warps, chip = occupancy.limits(shape, capability)
  if not limits then return nil end
  local least, name = occupancy.least(function(limit) return limits[limit] end)
  if least == 0 then return nil end -- it was launched, so a limit is not as here
  local made = { occupancy_percent = 100 * least * warps / chip.warps,
    limiter = least * warps < chip.warps and name or nil }
  if sm_count and sm_count > 0 and shape.grid then
    made.waves = shape.grid[1] * shape.grid[2] * shape.grid[3] / (least * sm_count)
    if made.waves < 1 then made.limiter = occupancy.GRID end
    local rounds = math.ceil(made.waves)
    made.tail_share = made.waves > 1 and 1 - made.waves / rounds or nil
  end
  return made
end


-- ---- of the kernels ----

local KEYS = { "device", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers",
  "static_shared", "dynamic_shared" }

-- What occupancy.add_columns gives.
occupancy.columns = { { name = "theoretical_percent", type = "number" },
  { name = "limiter", type = "string" }, { name = "waves", type = "number" } }


-- The shape of a launch by its columns; nil where it was not recorded.
function occupancy.shape(cells)
  local static, dynamic = cells.static_shared, cells.dynamic_shared
  return cells.grid_x and { grid = { cells.grid_x, cells.grid_y, cells.grid_z },
    block = { cells.block_x, cells.block_y, cells.block_z }, registers = cells.registers,
    shared_bytes = static and dynamic and static + dynamic } or nil
end


-- Adds the columns to a frame (of C) of kernels. devices: of trace:devices().
function occupancy.add_columns(frame, devices)
  local found -- of a row: its columns are asked for one after the other
  local percent, limiter, waves = table.unpack(occupancy.columns)
  return rows.extend(frame, KEYS, {
    { name = percent.name, type = percent.type, get = function(cells)
      local shape, device = occupancy.shape(cells), lists.find(devices, "id", cells.device)
      found = shape and device and occupancy.of(shape, device.compute, device.sm_count) or {}
      return found.occupancy_percent
    end },
    { name = limiter.name, type = limiter.type, get = function() return found.limiter end },
    { name = waves.name, type = waves.type, get = function() return found.waves end },
  })
end


-- Capability and SMs of the kernel's GPU, or of all where they are alike.
local function device_of(kernel, devices)
  local own = lists.filtered(devices, function(device)
    return kernel.device == nil or device.id == kernel.device
  end)
  local differ = lists.any(own, function(device)
    return device.compute ~= own[1].compute or device.sm_count ~= own[1].sm_count
  end)
  return not differ and own[1] or nil
end


-- kernel.launch, of the shape that takes most of its time.
function occupancy.run(state)
  local devices = state.trace:devices()
  for _, kernel in ipairs(state.kernels or {}) do
    local device = device_of(kernel, devices)
    local main = device and lists.largest(kernel.shapes, "total_ns")
    kernel.launch = main and occupancy.of(main, device.compute, device.sm_count)
  end
end


return occupancy
