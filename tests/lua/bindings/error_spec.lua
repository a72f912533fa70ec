local child = require "tests.lua.support.child"
local failure = require "llmprof.error"
local fs = require "llmprof.fs"

describe("llmprof.error", function()
  it("makes a table an error, which is its message", function()
    local fields = { kind = "usage", message = "no such column" }
    local err = failure.new(fields)
    assert.equal(fields, err)
    assert.is_true(failure.is(err))
    assert.equal("no such column", tostring(err))
    assert.equal("nil", tostring(failure.new {}))
  end)

  it("takes nothing else for one", function()
    for _, value in ipairs { "interrupted", 1, {}, setmetatable({}, {}), io.stdout } do
      assert.is_false(failure.is(value))
    end
    assert.error(function() failure.is() end)
    assert.error(function() failure.new "text" end)
  end)

  describe("raised by C", function()
    local folder

    before_each(function() folder = assert(fs.temp_dir "llmprof-error-") end)
    after_each(function() assert(fs.remove_tree(folder)) end)

    local llmprof = child.caller(function() return folder end)

    local function printed(script)
      assert(fs.write(folder .. "/script.lua", script))
      local code, out, err = llmprof("exec", folder .. "/script.lua")
      return out .. err, code
    end

    it("says what kind it is and which code", function()
      assert.equal("false interrupted interrupted interrupted\n", printed [[
local ok, err = pcall(function() os.execute "kill -TERM $PPID" end)
print(("%s %s %s %s"):format(ok, err.kind, err.code, err))]])
    end)

    it("ends the program with a status of its own", function()
      assert.same({ "llmprof: interrupted\n", 130 },
        { printed [[os.execute "kill -TERM $PPID"]] })
      local text, code = printed [[error "interrupted"]]
      assert.matches("script.lua:1: interrupted\n$", text)
      assert.equal(2, code)
    end)
  end)
end)
