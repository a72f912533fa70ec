-- Files that are wrong, cut short or made to hurt.
local ncu = require "llmprof.nvidia.ncu"

local ROOT = debug.getinfo(1, "S").source:match "^@(.-)tests/lua/spec/" or ""
local FIXTURES = ROOT .. "tests/fixtures/ncu/"

local RAW = '"ID","Process ID","Kernel Name","Block Size","Grid Size","gpu__time_duration.sum"\n'
local UNITS = '"","","","","","us"\n'
local DETAILS = '"ID","Process ID","Kernel Name","Section Name","Metric Name","Metric Unit",' ..
  '"Metric Value","Rule Name","Rule Type","Rule Description"\n'

local function slurp(name)
  local file <close> = assert(io.open(FIXTURES .. name, "rb"))
  return file:read "a"
end

local function row(id, kernel, time)
  return ('"%s","9","%s","(1, 1, 1)","(2, 1, 1)","%s"\n'):format(id, kernel, time)
end

-- A raw page is as good or as wrong when it is read as columns.
local function check_columns(text)
  local result, message, code = ncu.read_text(text, { page = "raw" })
  local columns, why, what = ncu.launches_of_text(text)
  assert.same({ result and #result.launches, message, code }, { columns and #columns, why, what },
    text)
end

local function error_of(text, options)
  check_columns(text)
  local result, message, code = ncu.read_text(text, options)
  assert.is_nil(result)
  assert.is_nil(message:find "\n")
  return { message, code }
end

-- A temporary file, removed after f(path).
local function with_file(text, f)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  local ok, message = pcall(f, path)
  os.remove(path)
  assert(ok, message)
end


describe("llmprof.ncu errors", function()
  it("names a file that cannot be read", function()
    assert.same({ n = 3, nil, "/nonexistent/raw.csv: No such file or directory", "notfound" },
      table.pack(ncu.read "/nonexistent/raw.csv"))
    local result, message = ncu.read "/"
    assert.is_nil(result)
    assert.equal("/: not a regular file", message)
  end)

  it("says when there is no page", function()
    local none = { 'csv: no CSV header with "Kernel Name"', "empty" }
    assert.same(none, error_of "")
    assert.same(none, error_of "\n\n")
    assert.same(none, error_of "==ERROR== The application returned an error code (1).\n")
    assert.same(none, error_of "hello,world\n1,2\n")
    assert.same({ "csv: neither a raw nor a details page of ncu", "unsupported" },
      error_of '"Kernel Name","Invocations"\n"a","7"\n')
    assert.same({ "csv: neither a raw nor a details page of ncu", "unsupported" },
      error_of '"ID","Kernel Name","Section Name","Metric Name","Minimum"\n"0","a","b","c","7"\n')
  end)

  it("checks the page that is asked for", function()
    local raw, details = RAW .. UNITS .. row(0, "a", 1), DETAILS
    assert.same({ "csv: a raw page, not a details page", "unsupported" },
      error_of(raw, { page = "details" }))
    assert.same({ "csv: a details page, not a raw page", "unsupported" },
      error_of(details, { page = "raw" }))
    assert.has_error(function() ncu.read_text(raw, { page = "source" }) end)
    assert.has_error(function() ncu.read("x", "raw") end)
  end)

  it("tells a page without launches from a broken one", function()
    local nothing = { "csv: no kernels were profiled", "nokernels" }
    assert.same(nothing, error_of(RAW))
    assert.same(nothing, error_of(RAW .. UNITS))
    assert.same(nothing, error_of(DETAILS))
    assert.same(nothing, error_of(RAW .. UNITS .. RAW))
    assert.same(nothing, error_of "==WARNING== No kernels were profiled.\n")
    assert.same(nothing, error_of "==PROF== x\n==WARNING== No ranges were profiled.\n")
  end)

  it("finds ncu's own word for it in a log file", function()
    with_file("==PROF== Connected\n==WARNING== No kernels were profiled.\n", function(path)
      assert.same({ n = 3, nil, path .. ": no kernels were profiled", "nokernels" },
        table.pack(ncu.read(path)))
    end)
    with_file(("x"):rep(65530) .. "\n==WARNING== No kernels were profiled.\n", function(path)
      assert.equal("nokernels", (select(3, ncu.read(path))))
    end)
    with_file("==PROF== Connected\n", function(path)
      assert.same({ n = 3, nil, path .. ': no CSV header with "Kernel Name"', "empty" },
        table.pack(ncu.read(path)))
    end)
  end)

  it("names file and line of a broken row", function()
    assert.same({ 'csv:3: 2 fields where the header has 6: "0","9"', "syntax" },
      error_of(RAW .. UNITS .. '"0","9"\n'))
    assert.same({ 'csv:4: 7 fields where the header has 6: ' ..
      '"1","9","b","(1, 1, 1)","(2, 1, 1)","1","2"', "syntax" },
      error_of(RAW .. UNITS .. row(0, "a", 1) .. '"1","9","b","(1, 1, 1)","(2, 1, 1)","1","2"\n'))
    assert.same({ 'csv:3: quoted field is never closed: "0","9","a', "syntax" },
      error_of(RAW .. UNITS .. '"0","9","a\n'))
    assert.same({ "csv:3: ID is not a number: zero", "syntax" },
      error_of(RAW .. UNITS .. row("zero", "a", 1)))
    assert.same({ "csv:3: ID is not a number: ", "syntax" },
      error_of(RAW .. UNITS .. row("", "a", 1)))
    assert.same({ "csv:3: Grid Size is not (x, y, z): (2, 1)", "syntax" },
      error_of(RAW .. UNITS .. '"0","9","a","(1, 1, 1)","(2, 1)","1"\n'))
    assert.same({ "csv:2: ID is not a number: -", "syntax" },
      error_of(DETAILS .. '"-","9","a","S","M","","1"\n'))
    with_file(RAW .. UNITS .. '"0"\n', function(path)
      assert.same({ n = 3, nil, path .. ':3: 1 fields where the header has 6: "0"', "syntax" },
        table.pack(ncu.read(path)))
    end)
  end)

  it("wants a units row that fits", function()
    assert.same({ "csv: units row missing: the row after the header has ID 0", "syntax" },
      error_of(RAW .. row(0, "a", 1) .. row(1, "b", 1)))
    assert.same({ 'csv:2: units row does not fit the header: "","","us"', "syntax" },
      error_of(RAW .. '"","","us"\n' .. row(0, "a", 1)))
    assert.same({ 'csv:2: units row does not fit the header: "","","","","","us","us"', "syntax" },
      error_of(RAW .. '"","","","","","us","us"\n' .. row(0, "a", 1)))
  end)

  it("refuses IDs that are mixed up", function()
    assert.same({ "csv:5: ID 0 was on line 3 already", "syntax" },
      error_of(RAW .. UNITS .. row(0, "a", 1) .. row(1, "a", 1) .. row(0, "a", 1)))
    assert.same({ "csv:3: ID 0 is 'b' here and 'a' before", "syntax" },
      error_of(DETAILS .. '"0","9","a","S","M","","1"\n"0","9","b","S","N","","1"\n'))
    -- each process counts its own
    local two = assert(ncu.read_text(RAW .. UNITS .. row(0, "a", 1) ..
      '"0","10","b","(1, 1, 1)","(2, 1, 1)","3"\n'))
    assert.equal(2, #two.launches)
    assert.equal(3e-6, two.launches[2].duration)
  end)

  it("gathers rows that do not follow each other", function()
    local got = assert(ncu.read_text(DETAILS .. '"0","9","a","S","M","","1"\n' ..
      '"1","9","b","S","M","","2"\n"0","9","a","S","N","Kbyte","3"\n')).launches
    assert.equal(2, #got)
    assert.same({ S = { M = 1, N = 3000 } }, got[1].sections)
    assert.same({ S = { M = "", N = "byte" } }, got[1].section_units)
  end)

  it("refuses an id column that comes twice, leaves out a metric that does", function()
    assert.same({ "csv: column 'Kernel Name' appears twice", "syntax" },
      error_of '"ID","Kernel Name","Kernel Name"\n"","",""\n"0","a","b"\n')
    assert.same({ "csv: column 'ID' appears twice", "syntax" },
      error_of('"ID",' .. DETAILS .. '"0","0","9","a","S","M","","1"\n'))
    local result = assert(ncu.read_text('"ID","Kernel Name","x__y","z__w","x__y","x__y"\n' ..
      '"","","us","","s",""\n"0","a","1","2","3","4"\n'))
    assert.same({ "x__y" }, result.ambiguous)
    assert.same({ z__w = 2 }, result.launches[1].metrics)
  end)

  it("lets an interrupt through", function()
    local csv = require "llmprof.csv"
    local parse = csv.parse
    csv.parse = function(...) -- luacheck: ignore 122
      local reader = assert(parse(...))
      return setmetatable({
        rows = function() return function() error("interrupted", 0) end end,
        close = function() reader:close() end,
        header = function() return reader:header() end,
        units = function() return reader:units() end,
      }, { __close = function() reader:close() end })
    end
    local ok, message = pcall(ncu.read_text, RAW .. UNITS .. row(0, "a", 1))
    csv.parse = parse -- luacheck: ignore 122
    assert.is_false(ok)
    assert.equal("interrupted", message)
  end)
end)


describe("llmprof.ncu against odd values", function()
  local function time_of(text)
    local launch = assert(ncu.read_text(RAW .. UNITS .. row(0, "a", text))).launches[1]
    return launch.metrics["gpu__time_duration.sum"], launch.duration
  end

  it("takes every way to say that there is none", function()
    for _, text in ipairs { "", "no data", "n/a", "(!) n/a", "nan", "NaN", "-nan", "-nan(ind)",
      " " } do
      assert.same({}, { time_of(text) }, text)
    end
    assert.same({ 0, 0 }, { time_of "0" })
    assert.same({ 0, 0 }, { time_of "0.000000" })
  end)

  it("keeps what is no number as text and computes nothing from it", function()
    for _, text in ipairs { "1,23", "12,34,567", ",123", "1,234,", "1,,234", "1.234,5", "1,2345",
      "1 234", "inf", "-inf", "0x10", "1e999", "3 (1; 2)", "--", "1.2.3" } do
      assert.same({ text, nil }, { time_of(text) }, text)
    end
    assert.same({ 1.2345678e-0, 1.2345678 }, { time_of "1,234,567.8" })
  end)

  it("drops what base units cannot hold", function()
    local launch = assert(ncu.read_text(
      '"ID","Kernel Name","dram__bytes.sum.per_second","gpu__time_duration.sum"\n' ..
      '"","","Tbyte/s","s"\n"0","a","1e300","1e300"\n')).launches[1]
    assert.is_nil(launch.metrics["dram__bytes.sum.per_second"])
    launch = assert(ncu.read_text(
      '"ID","Kernel Name","dram__bytes.sum.per_second","gpu__time_duration.sum"\n' ..
      '"","","byte/s","s"\n"0","a","1e300","1e300"\n')).launches[1]
    assert.equal(1e300, launch.rate.dram)
    assert.is_nil(launch.bytes.dram)
  end)

  it("takes names of 20 KB, and names that look like no value", function()
    local long = ("void f<T:,()\\|é>"):rep(1300)
    local launches = assert(ncu.read_text(RAW .. UNITS .. row(0, long, 1) ..
      row(1, "nan", 1) .. row(2, "", 1) .. row("3", 'say ""hi""', 1))).launches
    assert.is_true(#long > 20000)
    assert.equal(long, launches[1].kernel)
    assert.equal("nan", launches[2].kernel)
    assert.is_nil(launches[3].kernel)
    assert.equal('say "hi"', launches[4].kernel)
    local message = error_of(DETAILS .. '"0","9","' .. long .. '","S","M","","1"\n' ..
      '"0","9","b","S","M","","1"\n')[1]
    assert.equal("csv:3: ID 0 is 'b' here and '" .. long:sub(1, 80) .. "...' before", message)
  end)

  it("takes ids that are no small numbers", function()
    local launch = assert(ncu.read_text('"ID","Kernel Name","Stream","Device","Grid Size"\n' ..
      '"","","","",""\n"1,234","a","0x7f00","n/a","n/a"\n')).launches[1]
    assert.equal(1234, launch.id)
    assert.equal("0x7f00", launch.stream)
    assert.is_nil(launch.device)
    assert.is_nil(launch.grid)
    assert.is_nil(launch.block)
    assert.is_nil(launch.stages)
  end)

  it("tells whole ranges from kernels called range", function()
    local launches = assert(ncu.read_text('"ID","Kernel Name","Stream","Grid Size"\n"","","",""\n'
      .. '"0","range","n/a","n/a"\n"1","range","7","(2, 1, 1)"\n"2","f","n/a","(2, 1, 1)"\n'))
      .launches
    assert.is_true(launches[1].whole_range)
    assert.is_nil(launches[2].whole_range)
    assert.is_nil(launches[3].whole_range)
  end)

  it("reads past tool messages and repeated headers", function()
    local text = "==PROF== Connected to process 9\n" .. RAW .. UNITS .. row(0, "a", 1) ..
      "==PROF== Disconnected\n" .. RAW .. row(1, "b", 2)
    assert.equal(2, #assert(ncu.read_text(text)).launches)
    assert.equal(2, #assert(ncu.read_text((text:gsub("\n", "\r\n")))).launches)
  end)

  it("ignores details rows with neither metric nor rule", function()
    local launch = assert(ncu.read_text(DETAILS .. '"0","9","a"\n"0","9","a","S"\n' ..
      '"0","9","a","S","","","","R","OPT","text"\n')).launches[1]
    assert.same({}, launch.sections)
    assert.same({ { section = "S", name = "R", type = "OPT", description = "text" } },
      launch.rules)
  end)

  it("takes the first of two values with one label", function()
    local launch = assert(ncu.read_text(DETAILS .. '"0","9","a","S","M","us","1"\n' ..
      '"0","9","a","S","M","byte","2"\n')).launches[1]
    assert.same({ S = { M = 1e-6 } }, launch.sections)
    assert.same({ S = { M = "s" } }, launch.section_units)
  end)

  for _, name in ipairs { "tiny_h200_raw.csv", "tiny_h200_details.csv",
    "dsocr_h200_details.csv" } do
    it("survives " .. name .. " cut anywhere", function()
      local text = slurp(name)
      local whole = assert(ncu.read_text(text)).launches
      for size = 0, #text - 2, 997 do
        check_columns(text:sub(1, size))
        local result, message, code = ncu.read_text(text:sub(1, size))
        if result then
          assert.is_true(#result.launches <= #whole)
          for i, launch in ipairs(result.launches) do
            assert.equal(whole[i].kernel, launch.kernel)
            assert.is_true(not launch.duration or whole[i].duration == launch.duration)
            assert.is_true(not launch.flop.total or whole[i].flop.total == launch.flop.total)
          end
        else
          assert.equal("string", type(code))
          assert.is_nil(message:find "\n", size)
          assert.equal("csv:", message:sub(1, 4), size)
        end
      end
    end)
  end

  it("survives any byte turned into another", function()
    local stack = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
    local raw = '"ID","Kernel Name","' .. stack .. '","Grid Size","gpu__time_duration.sum",' ..
      '"sm__ops_path_tensor_src_fp8_sparsity_on.sum"\n"","","","","us",""\n' ..
      '"0","f(int)","7  ""d:a:none:none:none:none:none:none"" ","(1, 2, 3)","4.5","1,234"\n'
    local details = DETAILS .. '"0","9","a","S","M","Gbyte/s","1.5"\n' ..
      '"0","9","a","S","","","","R","OPT","text"\n'
    local bytes = { '"', ",", "\n", "\0", ":", "-", "\255", "9", "=" }
    for _, text in ipairs { raw, details } do
      for at = 1, #text do
        local broken = text:sub(1, at - 1) .. bytes[at % #bytes + 1] .. text:sub(at + 1)
        check_columns(broken)
        local result, message, code = ncu.read_text(broken)
        if not result then
          assert.equal("csv:", message:sub(1, 4), broken)
          assert.equal("string", type(code), broken)
        end
      end
    end
  end)
end)
