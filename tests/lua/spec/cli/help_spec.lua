-- The manual as text, and what completion offers beyond its transcript.
local completion = require "llmprof.cli.commands.complete"
local reference = require "llmprof.query.reference"
local plain = require "llmprof.report.plain"


describe("plain", function()
  it("fills paragraphs and takes marks away", function()
    assert.equal([[
Title of a page

One two, code_of **this** and a page.

- an item that goes on over the end of a line, which is after eighty columns at
  most
- another
]], plain.render [[
# Title of a page

<!-- normalise: time -->

One two,
`code_of **this**` and a **[page](page.md)**.

- an item that goes on over the end of a line, which is after eighty columns at most
- another
]])
  end)

  it("keeps code as it is, and marks headings", function()
    assert.equal("<A b>\n\n    $ x  | y **z**\n    # no heading\n\n    indented\n",
      plain.render("## A `b`\n\n```console\n$ x  | y **z**\n# no heading\n```\n\n    indented\n",
        function(line) return "<" .. line .. ">" end))
  end)

  it("aligns tables, and hangs the rows of wide ones", function()
    assert.equal("key    meaning\na | b  text of <x>\n",
      plain.render("| key | meaning |\n|---|---|\n| `a \\| b` | text of &lt;x> |\n"))
    assert.equal([[
a
    far more text than there is room for beside it, so that it is filled below
    the cell · and another
]], plain.render("| key | meaning | more |\n|---|---|---|\n| a | far more text than there is room "
      .. "for beside it, so that it is filled below the cell | and another |\n"))
  end)

  it("leaves no mark on any page of the manual", function()
    for _, topic in ipairs(reference.topics()) do
      local rendered = plain.render(reference.page(topic.name))
      for _, mark in ipairs { "\n```", "\n|%-%-", "%]%([%a_]+%.md%)", "\n# " } do
        assert.is_nil(rendered:find(mark), topic.name .. ": " .. mark)
      end
    end
  end)
end)


describe("completion", function()
  local function texts(...)
    local list = {}
    for i, candidate in ipairs(completion.candidates { ... }) do list[i] = candidate[1] end
    return list
  end

  it("knows which words options have taken", function()
    assert.same({ "top_n.kernels=" }, texts("run", "--config", "x.yaml", "recipes/toy_llm.lua",
      "top_n.k"))
    assert.same({ "--resume" }, texts("recipes/toy_llm.lua", "--res"))
  end)

  it("says what a candidate is about", function()
    assert.same({ { "toy.graph=", "Replay decode steps from a CUDA graph" } },
      completion.candidates { "recipes/toy_llm.lua", "toy.gr" })
  end)

  it("offers nothing after what is no command", function()
    assert.same({}, texts("nonsense", ""))
    assert.same({}, texts("zzz"))
  end)
end)
