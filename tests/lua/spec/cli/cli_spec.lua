-- Exit statuses and messages of the program, as a child. Transcripts of what
-- each command says are in tests/e2e.
local bundle = require "tests.lua.support.bundle"
local child = require "tests.lua.support.child"
local fs = require "llmprof.fs"
local json = require "llmprof.json"

describe("llmprof", function()
  local top = bundle.scratch(before_each, after_each)

  local llmprof = child.caller(top)

  -- Exit status and output of a script that is run by `llmprof exec`.
  local function script(source)
    assert(fs.write(top() .. "/s.lua", source))
    return llmprof("exec", top() .. "/s.lua")
  end

  it("turns each kind of error into its exit status and one line", function()
    local statuses = require("llmprof.process.errors").status
    statuses.closed = nil -- has nobody to tell
    for kind, status in pairs(statuses) do
      local code, out, err = script(([[require("llmprof.process.errors").raise("%s",
        "what is wrong", { hint = "what to do" })]]):format(kind))
      assert.same({ status, "", "llmprof: what is wrong\n  what to do\n" }, { code, out, err })
    end
  end)

  it("tells programs of errors in JSON that asked for it", function()
    local function said(...)
      local code, _, err = llmprof(...)
      local found = assert(json.decode(err))
      assert.equal(code, found.exit)
      return { found.error, found.hint, found.kind, found.exit }
    end
    local wanted = { "no command 'nope'",
      "llmprof --help lists the commands; a recipe of your own ends in .lua", "usage", 2 }
    assert.same(wanted, said("nope", "--json-errors"))
    assert.same(wanted, said("--json-errors", "nope"))
    assert.equal("no run 'a\u{fffd}\u{fffd}[31mb' in " .. top(),
      said("show", "--root", top(), "--json-errors", "a\xff\27[31mb")[1])
    assert(fs.write(top() .. "/s.lua", "print(...)\nlocal x\nreturn x.y"))
    local code, out, err = llmprof("--json-errors", "exec", top() .. "/s.lua", "--json-errors")
    assert.same({ 2, "--json-errors\n" }, { code, out })
    assert.matches("^stack traceback:\n", assert(json.decode(err)).detail)
  end)

  it("takes how many threads there are to be, anywhere before what a script reads", function()
    local asked = [[print(require("llmprof.bounds").get "limits.threads")]]
    assert.same({ 0, "3\n", "" }, { llmprof("-j", "3", "-e", asked) })
    assert.same({ 0, "12\n", "" }, { llmprof("-e", asked, "-j12") })
    for _, word in ipairs { "0", "many", "-1" } do
      local code, _, err = llmprof("-e", asked, "-j", word)
      assert.equal(2, code)
      local wanted = ("llmprof: -j: '%s' is not a number of threads\n"):format(word)
      assert.equal(wanted, err:match "^[^\n]*\n")
    end
    assert(fs.write(top() .. "/j.lua", "print(...)"))
    local code, out = llmprof("exec", top() .. "/j.lua", "-j", "2")
    assert.same({ 0, "-j\t2\n" }, { code, out })
  end)

  it("takes the script's own status, and shows its errors in full", function()
    assert.equal(7, (script "return 7"))
    assert.equal(0, (script "return 'text'"))
    local code, _, err = script "local x\nreturn x.y"
    assert.equal(2, code)
    assert.matches("^stack traceback:\n.*llmprof: .*s%.lua:2: attempt to index a nil value", err)
  end)

  it("shows no control characters of a message", function()
    local _, _, err = script [[require("llmprof.process.errors").raise("usage", "a\27[31mb\nc")]]
    assert.is_nil(err:find "\27")
  end)

  it("says which version it is", function()
    assert.same({ 0, ("llmprof %s\n"):format(require("llmprof.version").version), "" },
      { llmprof "--version" })
  end)

  it("shows help on standard output when asked, on standard error when not", function()
    local code, out, err = llmprof "--help"
    assert.same({ 0, "" }, { code, err })
    assert.matches("^usage: llmprof RECIPE.lua", out)
    for _, name in ipairs { "doctor", "exec", "run", "stats" } do
      assert.matches("\n  " .. name .. " +%a", out)
    end
    local without_code, nothing, help = llmprof()
    assert.same({ 2, "", out }, { without_code, nothing, help })
  end)
end)
