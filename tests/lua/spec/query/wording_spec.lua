-- Mistakes that people type, and what is said to them: in the words of the prompt, not
-- in Lua's.
local evaluate = require "llmprof.cli.repl.evaluate"
local session = require "llmprof.query.session"

local TRACE = "tests/fixtures/deepseek_ocr/run.sqlite"

local METHODS = 'methods come after a colon and have (): kernels:where { stage = "decode" }:head(5)'


-- Code, what is wrong, what to write (as far as it is said here).
local mistakes = {
  { "kernels[1].end", "'end' is a word of the language",
    'as a name it stands in brackets: r["end"], where { ["end"] = ... }' },
  { "kernels:where { end = 5 }", "'end' is a word of the language" },
  { "kernel:head()", "nothing is called 'kernel' here (did you mean 'kernels'?)" },
  { "kernels:hed()", "no column or method 'hed' here (did you mean 'head'?)", "columns: op name" },
  { "kernels:sum(dur)", "nothing is called 'dur' here",
    'help() says what there is; a text has quotes: "dur"' },
  { "kernels:where { stage = decode }", "nothing is called 'decode' here" },
  { "kernels:where { stage == 'decode' }",
    "nothing is called 'stage' here (did you mean 'stages'?)" },
  { "kernels:where(stage = 'decode')", "conditions stand in braces, not in ()",
    'for example: where { stage = "..." }' },
  { "kernels.where { stage = 'decode' }", "a frame is expected",
    "methods are called with a colon: f:top(10)" },
  { "kernels where stage", "not understood at 'where'", METHODS },
  { "kernels:head", "a method or function is called with ()", METHODS },
  { "kernels:sort('-dur'", "unfinished: ')' expected" },
  { "kernels:", "unfinished: <name> expected" },
  { "for i = 1, 2 do\n  print(i)",
    "line 2: unfinished: 'end' expected (to close 'for' at line 1)" },
  { 'kernels:sum("dur)', "a text is not closed", "it ends with the quote that it began with" },
  { "kernels:sum('dur'):top(3)", "a number ends a chain: it has no methods and fields" },
  { "kernels:group('name'):top(5)", "groups have no 'top' before a statistic",
    'for example: group("name"):sum("dur"):top(5)' },
  { "kernels:where { queue = false }:head(1):with('x', function(r) return r.queue + 1 end)",
    "'queue' has no value in a row", "absent values are nil in Lua: write (r.queue or 0)" },
  { "kernels:where(function(r) return r.queue > 5 end)", "a value is absent" },
  { "kernels[99999999].dur", "nothing is there to look into", "#f is how many rows a frame f has" },
  { "print('a' .. nil)", "a value is absent" },
  { "x = = 2", "not understood at '='" },
  { "1 +* 2", "not understood at '*'" },
  { "1 %% 2", "not understood at '%'" },
  { "SELECT * FROM kernels", "not understood at '*'" },
  { "kernels:agg('sum dur')", "'agg' is of groups",
    'for example: group("name"):agg("count", "sum dur")' },
  { "kernels(3)", "a frame is no function", "methods are called with a colon" },
  { "string.nothing()", "there is no function 'nothing'", "help() says what there is" },
}


describe("a mistake", function()
  local environment = session.environment { TRACE }

  local function said(code)
    local chunk, wrong = evaluate.compile(code, "=input", environment)
    if chunk then
      local text
      text, wrong = evaluate.run(chunk)
      assert(not text, ("%s: nothing is wrong: %s"):format(code, text))
    end
    return wrong.message, wrong.hint or ""
  end

  for _, mistake in ipairs(mistakes) do
    it("is answered: " .. mistake[1]:gsub("\n.*", ""), function()
      local message, hint = said(mistake[1])
      assert.equal(mistake[2], message)
      if mistake[3] then assert.equal(mistake[3], hint:sub(1, #mistake[3])) end
      assert.is_nil((message .. hint):find "attempt to" or (message .. hint):find "near '"
        or (message .. hint):find "input:%d")
    end)
  end

  it("keeps the line of a script", function()
    local _, wrong = evaluate.compile("x = 1\ny = )", "=stdin", environment)
    assert.equal("line 2: not understood at ')'", wrong.message)
  end)
end)


describe("no rows", function()
  it("say why, where a text is asked for that none has", function()
    local kernels = session.open({ TRACE }).kernels
    assert.equal("no rows: no stage is 'decod' (did you mean 'decode'?)",
      tostring(kernels:where { stage = "decod" }))
    assert.equal("no rows", tostring(kernels:where { stage = "decode", dur = { "<", 0 } }))
    assert.equal("no rows", tostring(kernels:head(0)))
  end)
end)
