local failure = require "tests.lua.support.failure"
local options = require "llmprof.cli.options"

local spec = {
  { "report", short = "r", arg = "A,B", type = "list", help = "reports", choices = { "a", "b" } },
  { "rows", short = "n", arg = "N", type = "integer", help = "rows" },
  { "format", short = "f", arg = "F", default = "table", choices = { "table", "md" },
    help = "format" },
  { "with", arg = "X", many = true, help = "may be repeated" },
  { "quiet", short = "q", help = "say nothing" },
}

local function parse(...)
  return { options.parse(spec, { ... }) }
end

local function refusal(...)
  local kind, message = table.unpack(failure(options.parse, spec, { ... }))
  assert.equal("usage", kind)
  return message
end


describe("llmprof.cli.options", function()
  it("tells options from words", function()
    assert.same({ { format = "md", quiet = true, rows = 5 }, { "x", "-", "y" } },
      parse("x", "-q", "--format=md", "-", "-n", "5", "y"))
    assert.same({ { format = "md", rows = 5 }, {} }, parse("-n5", "-fmd"))
    assert.same({ { format = "table" }, { "-q", "--x" } }, parse("--", "-q", "--x"))
    assert.same({ { format = "table", rows = -3 }, {} }, parse("--rows", "-3"))
  end)

  it("collects what may be repeated, else the last counts", function()
    assert.same({ { format = "table", with = { "1", "2" }, report = { "a", "b" } }, {} },
      parse("--with", "1", "--with=2", "-r", "a", "-r", "b"))
    assert.same({ { format = "md", report = { "a", "b" } }, {} },
      parse("-f", "table", "-f", "md", "--report=a,b"))
  end)

  it("refuses what is not declared", function()
    assert.equal("unknown option --foramt (did you mean '--format'?)", refusal "--foramt")
    assert.equal("unknown option --zzzzzzz", refusal "--zzzzzzz")
    assert.equal("unknown option -z", refusal "-z")
    assert.equal("--quiet takes no value", refusal "--quiet=yes")
    assert.equal("--rows needs a value: --rows N", refusal "--rows")
    assert.equal("-n: 'many' is not a whole number", refusal("-n", "many"))
    assert.equal("--rows: '1.5' is not a whole number", refusal "--rows=1.5")
    assert.equal("--format: 'mdd' is not one of table, md (did you mean 'md'?)",
      refusal "--format=mdd")
    assert.equal("--format: an empty value", refusal "--format=")
    assert.equal("-r: 'c' is not one of a, b", refusal("-r", "a,c"))
    assert.equal("--report: an empty list", refusal "--report=,")
  end)

  it("writes help from the same table", function()
    assert.equal([[
  -r, --report A,B  reports: a, b
  -n, --rows N      rows
  -f, --format F    format: table, md (table)
      --with X      may be repeated
  -q, --quiet       say nothing
]], options.help(spec))
  end)
end)
