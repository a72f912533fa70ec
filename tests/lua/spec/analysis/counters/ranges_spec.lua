-- Whole ranges out of a raw page, and kept apart from kernels.
local counters = require "llmprof.analysis.counters.join"
local ncu_page = require "tests.lua.support.ncu_page"

local STACK = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
local STARTED = "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"

-- An NVTX cell with these "domain:name", outermost first.
local function cell(...)
  local items = {}
  for i, name in ipairs { ... } do
    items[i] = ('""%s:none:none:none:none:none:none""'):format(name)
  end
  return table.concat(items, "  ")
end


-- The results of a raw page with a duration, DRAM bytes and FLOP of fp32 and bf16.
local function read(...)
  local columns = { "ID", STACK, STARTED, "Kernel Name", "Stream", "gpu__time_duration.sum",
    "dram__bytes.sum", "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "sm__ops_path_tensor_src_bf16_dst_fp32.sum" }
  local lines = { '"' .. table.concat(columns, '","') .. '"',
    '"","","","","","us","Kbyte","inst","inst","inst",""' }
  for i, row in ipairs { ... } do
    lines[#lines + 1] = ('"%d",%s'):format(i - 1, row)
  end
  return ncu_page(table.concat(lines, "\n") .. "\n")
end


local function row(stack, started, name, stream, ...)
  local values = table.move({ ... }, 1, select("#", ...), 5, { stack, started, name, stream })
  return '"' .. table.concat(values, '","') .. '"'
end


local PREFILL = cell("<default domain>:request", "<default domain>:prefill")

local function nowhere() return nil end


describe("whole ranges", function()
  it("gives FLOP by kind, bytes and intensity", function()
    local list = read(row("7  " .. PREFILL, "", "range", "n/a", "2.5", "8", "100",
      "200", "350", "15000")):whole_ranges(function() return "prefill" end)
    assert.same({ { range = "prefill", stage = "prefill", occurrence = 1, duration_ns = 2500,
      dram_bytes = 8000, flop = { fp32 = 1000, tensor = 15000, total = 16000 }, intensity = 2 } },
      list)
  end)

  it("leaves out what was not measured", function()
    local list = read(row("", "", "range", "n/a", "n/a", "n/a", "n/a", "n/a", "n/a",
      "n/a")):whole_ranges(nowhere)
    assert.same({ { occurrence = 1 } }, list)
  end)

  it("counts the occurrences of each range, by its innermost NVTX range", function()
    local function result(stack, started)
      return row(stack, started, "range", "n/a", "1", "1", "n/a", "n/a", "n/a", "n/a")
    end
    local list = read(result("7  " .. PREFILL, ""), result("", ""),
      result("7  " .. cell "app:decode", ""), result("", cell "3:<default domain>:request"),
      result("7  " .. PREFILL, "")):whole_ranges(nowhere)
    local said = {}
    for i, range in ipairs(list) do said[i] = { range.range or "none", range.occurrence } end
    assert.same({ { "prefill", 1 }, { "none", 1 }, { "app:decode", 1 },
      { "request", 1 }, { "prefill", 2 } }, said)
  end)

  it("are joined to no kernel, not even to one of that name", function()
    local results = read(row("7  " .. PREFILL, "", "range", "n/a", "1", "1", "1", "1", "1", "1"),
      row("7  " .. PREFILL, "", "range", "7", "2", "1", "1", "1", "1", "1"))
    local kernels = { { name = "range", stage = "prefill", total_ns = 10, shapes = {} } }
    local joined = counters.join(kernels, results, { declared = { { name = "prefill" } } })
    assert.same({ 1, 1, 1 }, { joined.launches, joined.matched, joined.kernels })
    assert.equal(2000, kernels[1].counters.measured_ns)
    assert.same({ "prefill", "prefill", 1000 }, { joined.ranges[1].range, joined.ranges[1].stage,
      joined.ranges[1].duration_ns })
    assert.is_nil(joined.ranges[2])
  end)
end)
