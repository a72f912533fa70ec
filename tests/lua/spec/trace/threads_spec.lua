-- What is read and written of a capture is to the byte the same for any number of threads.
local bounds = require "llmprof.bounds"
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local stats = require "llmprof.trace.stats"
local tables = require "llmprof.tables"
local trace = require "llmprof.trace"

local ROOT = debug.getinfo(1, "S").source:match "^@(.-)tests/lua/spec/" or ""

local CAPTURES = {
  "tests/fixtures/ranks4/rank0.sqlite",
  "tests/fixtures/graphs/node.sqlite",
  "tests/fixtures/recorded/alt_llm/run.sqlite",
  "tests/fixtures/recorded/vllm_serve/run.sqlite",
  "tests/fixtures/deepseek_ocr/run.sqlite",
}
local FEW = os.getenv "LLMPROF_TEST_FEW" and 2


-- Every table, and the timeline, plain and packed.
local function texts(path, folder)
  local opened, all = assert(trace.open(path)), {}
  for _, name in ipairs(stats.names) do
    local report = stats.report(opened, name, {})
    all[name] = tables.render("csv", report.columns, report.rows)
  end
  for _, packed in ipairs { false, true } do
    local target = folder .. "/timeline"
    assert(opened:perfetto(target, { packed = packed }))
    all[packed and "packed" or "plain"] = assert(fs.read(target))
  end
  opened:close()
  return all
end


describe("with any number of threads", function()
  local scratch = bundle.scratch(before_each, after_each)

  after_each(function() bounds.set("limits.threads", 0) end)

  for _, capture in ipairs { table.unpack(CAPTURES, 1, FEW or #CAPTURES) } do
    it("tables and timelines are the same: " .. capture, function()
      local wanted
      for _, threads in ipairs { 1, 2, 4, 8 } do
        bounds.set("limits.threads", threads)
        local got = texts(ROOT .. capture, scratch())
        wanted = wanted or got
        for name, text in pairs(wanted) do
          assert.is_true(#text > 0 and text == got[name], name)
        end
      end
    end)
  end
end)
