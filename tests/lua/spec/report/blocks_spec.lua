-- Blocks and their writers: every writer has every kind, and lets nothing through.
local blocks = require "llmprof.report.blocks"
local chapters = require "llmprof.report.chapters"
local files = require "llmprof.io.files"
local results = require "tests.lua.support.results"

local HOSTILE = "</script><b>*x*|`\n# y\27[31m"

-- Of each kind, with nothing but texts of others.
local examples = {
  heading = { level = 2, title = HOSTILE },
  paragraph = { text = { HOSTILE, { strong = HOSTILE } }, tone = "note" },
  verdict = { lines = { { head = HOSTILE, text = HOSTILE } } },
  tiles = { list = { { label = HOSTILE, value = HOSTILE, note = HOSTILE } } },
  moves = { list = { { title = HOSTILE, confidence = "low", try = HOSTILE, gain = HOSTILE,
    rule = HOSTILE, evidence = { { text = HOSTILE, source = HOSTILE } },
    kernels = { { id = 1, name = HOSTILE } } } } },
  table = { name = HOSTILE, columns = { { key = "a", title = HOSTILE, type = "text" } },
    rows = { { a = HOSTILE } } },
  chart = { name = "x", label = HOSTILE, data = {}, otherwise = HOSTILE },
  multiples = { label = HOSTILE, what = "step", panels = { { title = HOSTILE, count = 1, least = 1,
    most = 2, bars = { { whole = 2, work = 1, wait = 1 } } } } },
  flame = { name = HOSTILE, label = HOSTILE, samples = 3, tree = {
    { depth = 0, name = HOSTILE, module = HOSTILE, self = 0, total = 3 },
    { depth = 1, name = HOSTILE, self = 3, total = 3 } } },
  timeline = { results = { stages = {} } },
  code = { text = "no text of others that is not clean" },
}


-- Those of a digest, the one document that is text.
local OF_DIGEST = { heading = true, paragraph = true, moves = true, table = true }


local function writers()
  local list = {}
  for _, name in ipairs(files.module_names "report/write") do
    list[#list + 1] = require("llmprof.report.write." .. name)
  end
  return list
end


describe("the writer of Markdown", function()
  it("gives each footnote of a document a number of its own", function()
    local writer = require "llmprof.report.write.markdown"
    local function wide(text)
      return blocks.table { name = "t", columns = { { key = "a", title = "a", type = "text",
        max = 10 } }, rows = { { a = text:rep(30) } } }
    end
    local made = writer.render { wide "x", wide "y" }
    assert.truthy(made:find("[^k1]: " .. ("x"):rep(30), 1, true))
    assert.truthy(made:find("[^k2]: " .. ("y"):rep(30), 1, true))
    local _, count = made:gsub("%[%^k1%]:", "")
    assert.equal(1, count)
    assert.truthy(writer.render({ wide "z" }):find("[^k1]: " .. ("z"):rep(30), 1, true))
  end)
end)


describe("a flame graph in Markdown", function()
  local writer = require "llmprof.report.write.markdown"
  local tree = { { depth = 0, name = "main", self = 1, total = 4 },
    { depth = 1, name = "leaf", module = "work.py", self = 3, total = 3 } }

  it("is its hottest stack", function()
    local function said(of)
      return writer.render { blocks.flame { name = "x", label = "x", samples = 4, tree = tree,
        of = of } }
    end
    assert.equal("The stack with most samples, 3 of 4 (75.0 %), the innermost function last:\n\n"
      .. "- `main`\n- `leaf (work.py)`\n", said(nil))
    assert.matches("The stack with most GPU time, 3 ns (75.0 %), what ran last:", said "ns", 1,
      true)
  end)
end)


describe("every writer", function()
  it("is found", function()
    assert.is_true(#writers() >= 3)
  end)

  for _, writer in ipairs(writers()) do
    it("has every kind of block, and no other: " .. writer.name, function()
      local has, wanted = {}, {}
      for kind in pairs(writer.kinds) do has[kind] = true end
      for _, kind in ipairs(blocks.kinds) do
        wanted[kind] = (writer.name ~= "text" or OF_DIGEST[kind]) and true or nil
      end
      assert.same(wanted, has)
    end)

    it("lets no text of others act: " .. writer.name, function()
      for kind in pairs(writer.kinds) do
        local fields = assert(examples[kind], kind)
        if writer.name == "text" and kind == "paragraph" then fields = { text = HOSTILE } end
        local made = writer.render { blocks[kind](fields) }
        assert.is_nil(made:find("\27", 1, true), kind)
        if writer.name ~= "text" then
          assert.is_nil(made:find("</script>", 1, true), kind)
          assert.is_nil(made:find("\n# y", 1, true), kind)
        end
      end
    end)
  end
end)


describe("the sections", function()
  it("give blocks of known kinds, in every view, of full and of empty results", function()
    local known = {}
    for _, kind in ipairs(blocks.kinds) do known[kind] = true end
    for _, given in ipairs { results.full(), results.empty() } do
      for _, view in ipairs { {}, { brief = true }, { page = true } } do
        for _, name in ipairs(chapters.names()) do
          for _, block in ipairs(chapters.content(given, name, view) or {}) do
            assert.is_true(known[block.kind], name)
          end
        end
      end
    end
  end)

  it("have a title each, and no two the same", function()
    local seen = {}
    for _, name in ipairs(chapters.names()) do
      local title = chapters.heading(name).title
      assert.is_nil(seen[title], title)
      seen[title] = true
    end
  end)
end)


describe("a list of blocks", function()
  it("takes lists, blocks and nothing at all", function()
    local a, b = blocks.say "a", blocks.say "b"
    assert.same({ a, b, a }, blocks.join(nil, a, { { b, false }, {} }, false, a))
    assert.same({}, blocks.join(nil))
  end)
end)
