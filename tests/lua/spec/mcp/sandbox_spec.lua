-- Questions that mean harm: what `query` asks reaches no file, no process, and ends.
local tools = require "llmprof.mcp.tools"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"

local RUN = "tests/fixtures/deepseek_ocr"
local MEMORY = 96 << 20

-- By kind: code that is refused, and with which words where those matter.
local attacks = {
  files = { 'io.open("x", "w")', 'os.remove("x")', 'os.rename("x", "y")', 'require "llmprof.fs"',
    'dofile "x"', 'loadfile "x"', 'package.loadlib("x", "y")', 'kernels:save("sandbox.csv")',
    'kernels:group("name"):count():save "sandbox.csv"', "files[1]", "trace:info()", "run.dir",
    "sql[[SELECT 1]]", "arg[1]", 'print "x"' },
  processes = { 'os.execute "x"', 'io.popen "x"', "os.exit(0)", 'require("llmprof.spawn")',
    'os.getenv "HOME"' },
  code = { 'load "return 1"', 'loadstring "return 1"', "string.dump(tostring)",
    "_G.io", "_ENV.io", "_ENV._G", "getfenv(0)", 'collectgarbage "stop"' },
  metatables = { "getmetatable('')", "setmetatable({}, { __gc = error })", "rawset(kernels, 1, 1)",
    "rawget(kernels, 1)", "kernels.x = 1", "kernels[1].x.y", "('').x = 1", "help.x.y",
    "kernels:group('name').frame", "kernels:group('name').wrap", "kernels.rows.x",
    "debug.getinfo(1)", "debug.sethook()", "help.new()", "kernels:group('name').keys_of()" },
  threads = { "coroutine.create(error)", "coroutine.wrap(error)()", "pcall(error)",
    "xpcall(error, error)" },
  memory = { "string.rep('x', 1 << 40)", "string.rep('x', 1 << 62)",
    "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end",
    "local t = {} while true do t = { t } end", "local s = 'x' while true do s = s .. s end",
    "table.concat({ ('x'):rep(1e8), ('x'):rep(1e8), ('x'):rep(1e8), ('x'):rep(1e8) })",
    "local function f() return 1 + f() end f()", "table.unpack({}, 1, 1e8)",
    "utf8.char(table.unpack({}, 1, 1e7))" },
  patterns = { "('a'):rep(1e5):find(('.-'):rep(2000) .. 'b')", "('x'):find(('('):rep(99))",
    "('x'):gsub('%', 'x')", "('x'):find('[')" },
}

-- Code that would run for ever, also where no instruction of Lua's is in between.
local endless = { "local function f() return f() end f()", "string.rep('', 1 << 62)",
  "table.move({}, 1, 1 << 62, 2)",
  "('a'):rep(40):find(('a*'):rep(40) .. 'b')", "kernels:where(function() while true do end end)",
  "kernels:with('x', function() while true do end end)",
  "table.sort({ 3, 2, 1 }, function() while true do end end)" }


-- What a question says; nil and why not.
local function ask(code, seconds, memory)
  local ok, said = errors.call(tools.run, { "ask", code, RUN },
    { seconds = seconds, memory = memory or MEMORY })
  if ok then return said end
  return nil, said.message
end


describe("a question", function()
  for kind, list in pairs(attacks) do
    it("is refused: " .. kind, function()
      for _, code in ipairs(list) do
        local said, why = ask(code)
        assert(not said or said == "nil\n", ("%s: %s"):format(code, said))
        assert(not why or not why:find "traceback", ("%s: %s"):format(code, why))
        assert(not why or not why:find "within its time", ("%s: %s"):format(code, why))
      end
      assert.is_nil(fs.stat "sandbox.csv")
    end)
  end

  it("is told no addresses", function()
    for code, said in pairs { ["tostring(tostring)"] = "function\n", ["math.max"] = "function\n",
      ["('%s %s'):format({}, next)"] = "table function\n", ["{ assert }"] = "{ function }\n",
      ["string.format('%5.1f|%%p', 2)"] = "  2.0|%p\n", ["tostring(12)"] = "12\n" } do
      assert.same({ said }, { ask(code) }, code)
    end
    for code, why in pairs { ["string.format('%p', {})"] = "llmprof: format: there is no %p in a "
      .. "question", ["error(next)"] = "llmprof: function",
      ["('%d'):format('x')"] = "llmprof: bad argument #2 to 'format' (number expected, got string)",
      ["local a = 1\nlocal b = ('%d'):format('x')\nreturn b"] = "llmprof: bad argument #2 "
        .. "to 'format' (number expected, got string)" } do
      assert.same({ [2] = why }, { ask(code) }, code)
    end
  end)

  it("ends", function()
    for _, code in ipairs(endless) do
      local said, why = ask(code, 1)
      assert.same({ [2] = "no answer within its time; ask for less" }, { said, why }, code)
    end
  end)

  it("has an answer that is not too long", function()
    assert.matches("^the answer is longer than 33%.55 MB; ask for less$",
      (select(2, ask("(('x'):rep(99) .. '\\n'):rep(1 << 19)", nil, 1 << 30))))
  end)

  it("is told what ended it", function()
    local ok, said = errors.call(tools.run, { "ask", "while true do end", RUN },
      { seconds = 30, is_cancelled = function(child)
        child:signal "SIGKILL"
        return false
      end })
    assert.is_false(ok)
    assert.matches("^the answer was ended by SIGKILL, as the system does when memory is short",
      said.message)
  end)
end)
