local bundle = require "tests.lua.support.bundle"
local trace_file = require "llmprof.trace.file"
local child = require "tests.lua.support.child"
local fs = require "llmprof.fs"
local session = require "llmprof.query.session"
local spawn = require "llmprof.spawn"
local stats = require "llmprof.trace.stats"
local tables = require "llmprof.tables"
local trace = require "llmprof.trace"

local CAPTURES = { "tests/fixtures/small/run.sqlite", "tests/fixtures/graphs/node.sqlite",
  "tests/fixtures/deepseek_ocr/run.sqlite", "tests/fixtures/recorded/vllm_serve/run.sqlite",
  "tests/fixtures/recorded/alt_llm/run.sqlite" }


-- What was written just now is not kept.
local function settle() assert(spawn.run { "sleep", "0.2" }) end


describe("llmprof.trace with a cache", function()
  local top = bundle.scratch(before_each, after_each)

  local function options() return { folder = top() .. "/kept", least = 0, most = 1 << 30 } end

  -- What is shown of a report.
  local function shown(report)
    local rows = tables.rows(report.columns, report.rows)
    assert(#rows > 0 or report.reason)
    return { report.name, rows, report.reason }
  end

  -- All reports, and the rows of all frames, of a trace.
  local function everything(opened)
    local all = {}
    for _, name in ipairs(stats.names) do
      for _, year in ipairs { "2023", "2025" } do
        all[#all + 1] = shown(stats.report(opened, name, { names = year }))
      end
    end
    for _, name in ipairs { "kernels", "transfers", "graphs", "gpu", "api", "ranges",
      "projections", "samples" } do
      local frame = assert(opened:frame(name))
      all[#all + 1] = { name, #frame }
      for _, column in ipairs(frame:columns()) do
        local groups = frame:group { by = { column.name }, columns = { { "rows", "count" } } }
        for row = 1, math.min(#groups, 50) do
          all[#all + 1] = { name, column.name, groups:get(row, column.name) or false,
            groups:get(row, "rows") }
        end
      end
    end
    all[#all + 1] = opened:devices()
    all[#all + 1] = opened:processes()
    all[#all + 1] = opened:threads()
    all[#all + 1] = opened:diagnostics()
    return all
  end

  it("answers as without", function()
    for _, path in ipairs(CAPTURES) do
      local plain = everything(assert(trace.open(path)))
      for time = 1, 4 do
        local opened = assert(trace.open(path, options()))
        assert.equal(time > 2 or nil, opened:info().cached)
        assert.same(plain, everything(opened))
        opened:close()
      end
    end
  end)

  -- Questions of the prompt.
  local QUESTIONS = {
    'kernels:group("name"):agg("count", "sum dur", "p90 dur", "std dur")',
    'kernels:group("category", "stage"):stats("queue")',
    'kernels:where { stage = "decode" }:group("label"):median("gap")',
    'kernels:where { category = "gemm" }:where("dur", ">", 2000):group("label"):count()',
    'kernels:where { stage = "decode", category = "gemm" }:top(7, "dur"):select("label", "op")',
    'kernels:where("label", "~", "gemm"):tail(3)', 'kernels:where { stage = "nothing" }',
    'kernels:top(5, "dur"):select("label", "stage", "part", "tag", "dur")',
    'kernels:unique("stage", "part")', 'kernels:distinct("label")', 'ops:stats("gpu_gap")',
    'ops:group("kind", "stage"):agg("count", "max api_time", "sum gap")',
    'transfers:group("name"):agg("count", "sum bytes", "median dur")',
    'api:group("name"):agg("count", "sum dur", "median dur")', '#api:where { tid = 0 }',
    'kernels:gaps(5000):stats("dur")', 'kernels:gaps(5000):top(3, "dur")',
  }

  local function answers(path)
    local environment = session.environment { path }
    local list = {}
    for i, question in ipairs(QUESTIONS) do
      local ask = load("return tostring(" .. question .. ")", question, "t", environment)
      list[i] = { question, ask() }
    end
    return list
  end

  it("answers questions as without", function()
    local path, open = top() .. "/run.sqlite", trace.open
    assert(fs.copy("tests/fixtures/deepseek_ocr/run.sqlite", path))
    settle()
    local plain, opened = answers(path), {}
    finally(function() trace.open = open end)
    trace.open = function(of)
      opened[#opened + 1] = assert(open(of, options()))
      return opened[#opened]
    end
    for time = 1, 4 do
      assert.same(plain, answers(path))
      local timeline = table.remove(opened)
      assert.equal(time > 2 or nil, timeline:info().cached)
      timeline:close()
    end
  end)

  it("is not used without one", function()
    assert.is_nil(assert(trace.open(CAPTURES[1])):info().cached)
  end)

  it("says what it takes", function()
    assert.has_error(function() trace.open(CAPTURES[1], {}) end)
    assert.has_error(function() trace.open(CAPTURES[1], { folder = "x", least = -1, most = 1 }) end)
    assert.has_error(function() trace.open(CAPTURES[1], { folder = "x", least = 1 }) end)
  end)
end)


describe("llmprof.trace.file", function()
  it("keeps at most a tenth of the free disk", function()
    local made = trace_file.cache_options()
    assert.equal(20000000, made.least)
    assert.equal(require("llmprof.io.files").folder("cache", "traces"), made.folder)
    assert.is_true(made.most > 0 and made.most <= 4000000000)
  end)

  it("keeps what a run is told to", function()
    trace_file.keep_in_cache(12345)
    assert.equal(12345, trace_file.cache_options().most)
    trace_file.keep_in_cache(nil)
    assert.equal(12345, trace_file.cache_most())
    trace_file.keep_in_cache(0)
    assert.is_nil(trace_file.cache_options())
    trace_file.keep_in_cache(1 << 30)
  end)
end)


describe("the commands about the cache", function()
  local top = bundle.scratch(before_each, after_each)

  -- llmprof with a cache and settings of its own, and more of an environment.
  local function with(env, ...)
    env.XDG_CACHE_HOME, env.XDG_CONFIG_HOME = top() .. "/cache", top() .. "/config"
    return child.caller(top, function() return { env = env } end)(...)
  end

  local function llmprof(...) return with({}, ...) end

  -- An export that is large enough to be kept.
  local function large()
    local path = top() .. "/large.sqlite"
    assert(fs.copy("tests/fixtures/small/run.sqlite", path))
    local file = assert(io.open(path, "ab"))
    assert(file:write(("\0"):rep(trace_file.CACHE_LEAST)))
    assert(file:close())
    settle()
    return path
  end

  local function kept()
    local names = {}
    for _, name in ipairs(fs.list(top() .. "/cache/llmprof/traces") or {}) do
      names[#names + 1] = name:match "%.(%l+)$"
    end
    return names
  end

  it("print the same with it, without it and from it", function()
    local path = large()
    local words = { "stats", "-f", "csv", "-r", "cuda_api_sum,cuda_gpu_kern_sum", path }
    local function said(...)
      local code, out, err = llmprof(...)
      assert.same({ 0, "" }, { code, err })
      return out
    end
    local plain = said("--no-cache", table.unpack(words))
    assert.same({}, kept())
    assert.equal(plain, said(table.unpack(words)))
    assert.same({ "columns" }, kept())
    assert.equal(plain, said(table.unpack(words)))
    local question = "return kernels:group('name'):sum('duration')"
    plain = said("-e", question, path, "--no-cache")
    assert.same({ "columns" }, kept())
    for _ = 1, 3 do assert.equal(plain, said("-e", question, path)) end
    assert.same({ "columns" }, kept())
  end)

  it("remove it, after asking", function()
    local path = large()
    for _ = 1, 3 do llmprof("-e", "return #kernels", path) end
    local amount = "1 file, %d+%.%d+ kB\n$"
    local _, out = llmprof("clean", "--cache", "--dry-run")
    assert.matches("^would remove " .. amount, out)
    assert.same({ "columns" }, kept())
    local code, _, err = llmprof("clean", "--cache")
    assert.equal(2, code)
    assert.matches("there is no terminal to ask on", err)
    _, out = llmprof("clean", "--cache", "--yes")
    assert.matches("^removed " .. amount, out)
    assert.same({}, kept())
    _, out = llmprof("clean", "--cache", "--yes")
    assert.equal("nothing to remove\n", out)
    code, _, err = llmprof("clean", "--cache", "latest")
    assert.equal(2, code)
    assert.matches("not for runs", err)
  end)

  it("take what the environment and the user's settings say", function()
    local path = large()
    assert(fs.mkdirs(top() .. "/config/llmprof"))
    local function opened(env)
      llmprof("clean", "--cache", "--yes")
      with(env, "-e", "return #kernels", path)
      return #kept()
    end
    assert.equal(1, opened {})
    assert.equal(0, opened { LLMPROF_CACHE = "0" })
    assert.equal(0, opened { LLMPROF_CACHE = "100" })
    local code, _, err = with({ LLMPROF_CACHE = "much" }, "-e", "return #kernels", path)
    assert.equal(2, code)
    assert.matches("^llmprof: LLMPROF_CACHE: 'much' is no number of bytes\n", err)
    assert(fs.write(top() .. "/config/llmprof/config.yaml", "cache: { bytes: 0 }\n"))
    assert.equal(0, opened {})
    assert.equal(1, opened { LLMPROF_CACHE = "1000000000" })
    assert(fs.write(top() .. "/config/llmprof/config.yaml", "cache.bytes: some\n"))
    code, _, err = llmprof("-e", "return #kernels", path)
    assert.equal(2, code)
    assert.matches("config.yaml: cache.bytes: a whole number is expected, not 'some'\n", err)
  end)
end)
