-- llmprof.ncu: what Nsight Compute measured, one record per kernel launch.
--
--   local ncu = require "llmprof.nvidia.ncu"
--   local raw = assert(ncu.read "raw.csv")        -- ncu -i X --csv --page raw
--   local all = assert(ncu.merge(raw, assert(ncu.read "details.csv")))
--   for _, launch in ipairs(all.launches) do
--     print(launch.kernel, launch.duration, launch.flop.total, ncu.bound(launch))
--   end
--
-- ncu.read(path [, { page = "raw"|"details" }]) -> result | nil, message, code
-- ncu.read_text(text [, options])               the same over a string
--   The page is told by its header; to do so a raw page is opened twice, so
--   name the page to read from a pipe. result:
--     page       "raw", "details" or "merged"
--     name       the path, or "csv"
--     columns    number of columns in the header
--     launches   list of launch records, in the order of the file
--     ambiguous  names of metric columns that came twice and were left out
--   Codes beside those of llmprof.csv (notfound, denied, io, syntax, ...):
--     nokernels    a good file without launches: ncu captured nothing
--     unsupported  CSV, but neither a raw nor a details page
--
-- ncu.launches(path) -> launches | nil, message, code
--   Of a raw page, the figures of all launches as columns, in a fraction of the time and
--   memory where there are many: see llmprof.nvidia.ncu.launches.
-- ncu.launches_of_text(text)                    the same over a string
--
-- ncu.merge(raw, details) -> result | nil, message, code
--   Joins the two pages by process and ID. The raw page's numbers win, rules
--   come from the details page, launches on one page only are kept. Records
--   may share tables with those merged.
--
-- A launch record. What the file does not hold is nil, never 0; the groups
-- (tables) are always there. Percentages are 0..100.
--   id, process_id, process, host, kernel, device, context, stream
--   cc                 compute capability as text, "9.0"
--   whole_range        true for a result of range replay: all that ran in a range,
--                      which is the innermost of `stages` or of `ranges`; it has
--                      kernel "range", and no stream, grid and block
--   thread             that launched it; nil without NVTX columns
--   stages             NVTX push/pop stack, outermost first: list of { name,
--                      domain } (domain nil: the default one); nil without
--                      NVTX columns, {} outside of every range
--   ranges             NVTX start/stop ranges: list of { id, name, domain }
--   grid, block        { x, y, z }
--   duration           s
--   bytes              dram, dram_read, dram_write, l2, l1
--   flop               fp64, fp32, fp16 (vector units), tensor (tensor cores,
--                      floating point), total
--   tensor             operations by source type: bf16, fp16, tf32, fp8, fp64,
--                      int8, int4, int1, ...: FLOP, or OP for integers
--   rate               dram, l2, l1 (byte/s); fp64, fp32, fp16, tensor, total
--                      (FLOP/s)
--   peak               dram, l2, l1 (byte/s); fp64, fp32, fp16 (FLOP/s);
--                      tensor (table by source type, dense, FLOP/s or OP/s)
--   intensity          dram, l2, l1: flop.total per byte
--   throughput         sm, memory, dram, l2, l1, tensor: % of peak sustained
--   occupancy          theoretical, achieved (%), warps_theoretical,
--                      warps_achieved (per SM); limits (blocks per SM by
--                      registers, shared_mem, warps, blocks, barriers);
--                      limiters (sorted list of those that are lowest; {} at
--                      a theoretical 100 %)
--   registers          per thread
--   shared             total, static, dynamic, driver (bytes per block)
--   waves              of blocks over all SMs
--   metrics, units     metric name -> number in base units (byte, s, Hz, and
--                      per second) or text; metric name -> base unit. A unit
--                      that is not known is kept, with its value as it was.
--   sections, section_units   details page: section -> label -> number, unit
--   rules              details page: list of { section (identifier), name,
--                      type ("OPT", "INF", "WRN"), description, speedup_type
--                      ("global", "local"), speedup (%) }
--   source             path ("flop.fp32", "duration") -> { formula, unit,
--                      inputs = list of { name, value, unit } }. Names are
--                      metrics, "Section: Label" on a details page, or paths
--                      of other numbers in the record.
--
-- Formulas, T the duration (gpu__time_duration.sum). A count may be given as
-- X.sum, X.sum.per_cycle_elapsed (times the unit's __cycles_elapsed.avg) or
-- X.sum.per_second (times T).
--   bytes.dram    dram__bytes_read.sum + dram__bytes_write.sum, or
--                 dram__bytes.sum, or dram__bytes.sum.per_second * T
--   bytes.l2      lts__t_bytes.sum, or derived__lts__lts2xbar_bytes (to the
--                 SMs only) per second * T
--   bytes.l1      derived__l1tex__lsu_writeback_bytes_mem_lgds per second * T
--   flop.fp32     fadd + fmul + 2 * ffma, thread instructions with predicate
--                 on (smsp__sass_thread_inst_executed_op_*_pred_on); fp64 alike
--   flop.fp16     2 * hadd + 2 * hmul + 4 * hfma: packed halves, as ncu 2025
--                 counts; half of that where a file has ncu 2024's derived
--                 ..._hfma_pred_on_x2. An upper bound: HFMA also moves data.
--   tensor.X      sm__ops_path_tensor_src_X...: see llmprof.ncu.tensor. Padding
--                 of tiles included.
--   flop.total    fp64 + fp32 + tensor, and fp16 if hadd or hmul ran at all;
--                 nil unless fp32 and tensor are there
--   peak.dram     dram__bytes.sum.peak_sustained *
--                 dram__cycles_elapsed.avg.per_second
--   peak.fp32     2 * sm__sass_thread_inst_executed_op_ffma_pred_on.sum
--                 .peak_sustained * sm__cycles_elapsed.avg.per_second
--   peak.tensor.X the fastest path's dense (..._sparsity_off) .sum
--                 .peak_sustained * sm__cycles_elapsed.avg.per_second
-- Clocks are those of the launch, so peaks differ a little between launches.
-- ncu flushes caches and runs kernels alone: take times from nsys.
--
-- ncu.bound(launch) -> class, reason, numbers
--   class: the unit with the largest share of its peak, if that reaches 60 %: DRAM,
--   L2, L1, tensor, fp32, fp64, ALU, issue; SM or memory where only ncu's sum over
--   units was measured; "latency" below; "unknown" where nothing was. numbers:
--   unit, percent (of the busiest), waves, low.
--
-- ncu.filter_regex(names) -> "regex:^(a|b)$" | nil, message, code
--   For ncu --kernel-name: exactly these names. By default ncu matches the
--   function's base name (nsys's short name), see --kernel-name-base.
--
-- ncu.filter_room(name) -> bytes of it in such a filter, of ncu.FILTER_ROOM; nil for
--   what cannot be asked for
local bound = require "llmprof.nvidia.ncu.bound"
local csv = require "llmprof.csv"
local details = require "llmprof.nvidia.ncu.details"
local merge = require "llmprof.nvidia.ncu.merge"
local raw = require "llmprof.nvidia.ncu.raw"

local ncu = {}

local PAGES = { raw = raw, details = details }

local NO_KERNELS = "==WARNING== No %a+s were profiled"
local BLOCK = 64 * 1024

-- One argument of a Linux program, its end included, has at most 128 KiB.
local MAX_ARGUMENT = 128 * 1024 - 1


-- Whether ncu wrote, instead of a table, that there was nothing to profile.
local function says_nothing_profiled(path)
  local file = io.open(path, "rb")
  if not file then return false end
  local found, tail = false, ""
  for block in file:lines(BLOCK) do
    found = found or (tail .. block):find(NO_KERNELS) ~= nil
    tail = block:sub(-80)
  end
  file:close()
  return found
end


local function no_kernels(name)
  return nil, name .. ": no kernels were profiled", "nokernels"
end


local function page_of(header)
  local has = {}
  for _, column in ipairs(header) do has[column] = true end
  if not (has.ID and has["Kernel Name"]) then return nil end
  if has["Metric Name"] and has["Metric Value"] and has["Section Name"] then return "details" end
  return not (has["Metric Name"] or has["Section Name"]) and "raw" or nil
end


-- A reader on the page and its name. open(options) is csv.open or csv.parse.
local function open_page(open, name, wanted)
  local reader, message, code = open(PAGES[wanted or "details"].OPTIONS)
  if not reader then return nil, message, code end
  local page = page_of(reader:header())
  if page == (wanted or "details") then return reader, page end
  reader:close()
  if not page then
    return nil, name .. ": neither a raw nor a details page of ncu", "unsupported"
  elseif wanted then
    return nil, ("%s: a %s page, not a %s page"):format(name, page, wanted), "unsupported"
  end
  reader, message, code = open(raw.OPTIONS)
  if not reader then return nil, message, code end
  return reader, "raw"
end


local function wanted_page(options)
  if options ~= nil and type(options) ~= "table" then
    error(("options: table expected, got %s"):format(type(options)), 3)
  end
  local page = options and options.page
  if page ~= nil and not PAGES[page] then
    error(("option 'page': \"raw\" or \"details\" expected, got %s"):format(tostring(page)), 3)
  end
  return page
end


local function read(open, name, wanted)
  local reader <close>, page, code = open_page(open, name, wanted)
  if not reader then return nil, page, code end
  local result, message, why = PAGES[page].read(reader, name)
  if not result then return nil, message, why end
  if #result.launches == 0 then return no_kernels(name) end
  result.page, result.name, result.columns = page, name, #reader:header()
  return result
end


function ncu.read(path, options)
  local function open(csv_options) return csv.open(path, csv_options) end
  local result, message, code = read(open, path, wanted_page(options))
  if code == "empty" and says_nothing_profiled(path) then return no_kernels(path) end
  return result, message, code
end


function ncu.read_text(text, options)
  local function open(csv_options) return csv.parse(text, csv_options) end
  local result, message, code = read(open, "csv", wanted_page(options))
  if code == "empty" and text:find(NO_KERNELS) then return no_kernels "csv" end
  return result, message, code
end


local function read_launches(open, name)
  local reader <close>, page, code = open_page(open, name, "raw")
  if not reader then return nil, page, code end
  local found, message, why = raw.launches(reader, name)
  if not found then return nil, message, why end
  if #found == 0 then return no_kernels(name) end
  return found
end


function ncu.launches(path)
  local function open(csv_options) return csv.open(path, csv_options) end
  local found, message, code = read_launches(open, path)
  if code == "empty" and says_nothing_profiled(path) then return no_kernels(path) end
  return found, message, code
end


function ncu.launches_of_text(text)
  local function open(csv_options) return csv.parse(text, csv_options) end
  local found, message, code = read_launches(open, "csv")
  if code == "empty" and text:find(NO_KERNELS) then return no_kernels "csv" end
  return found, message, code
end


function ncu.merge(raw_result, details_result)
  assert(raw_result.page == "raw", "merge: first argument is not a raw page")
  assert(details_result.page == "details", "merge: second argument is not a details page")
  local launches, message, code = merge.launches(raw_result, details_result)
  if not launches then return nil, message, code end
  return { page = "merged", name = raw_result.name, columns = raw_result.columns,
    launches = launches, ambiguous = raw_result.ambiguous }
end


ncu.bound = bound.classify


-- Only what every regex dialect takes as special is escaped: in some, "\<"
-- is the start of a word.
local function escape(name)
  return (name:gsub("[\\^$.|?*+()%[%]{}]", "\\%0"))
end


local function put(list)
  return "regex:^(" .. table.concat(list, "|") .. ")$"
end


local function is_name(name)
  return type(name) == "string" and name ~= "" and not name:find "%z"
end


function ncu.filter_room(name)
  if not is_name(name) then return nil end
  return #escape(name) + 1
end


ncu.FILTER_ROOM = MAX_ARGUMENT - #put {}


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
