local server = require "llmprof.mcp.server"
local sys = require "llmprof.sys"

describe("llmprof.mcp.server", function()
  local read, readable = sys.read, sys.readable

  after_each(function() sys.read, sys.readable = read, readable end)

  -- Pieces come one after the other; then the end, or for ever the last one.
  local function coming(pieces, without_end)
    local at, taken = 0, 0
    sys.readable = function() return true end
    sys.read = function()
      at = math.min(at + 1, #pieces + (without_end and 0 or 1))
      taken = taken + #(pieces[at] or "")
      return pieces[at] or ""
    end
    return server.open(), function() return taken end
  end

  local function all_of(incoming)
    local list, line = {}, incoming:next()
    while line ~= nil do
      list[#list + 1] = line
      line = incoming:next()
    end
    return list
  end

  it("gives lines, whatever pieces they come in", function()
    assert.same({ "a", "bc", "", "d" }, all_of(coming { "a\nb", "c\r\n", "\nd" }))
  end)

  it("passes over a line that is too long, keeping none of it", function()
    local long = ("x"):rep(server.MOST)
    assert.same({ "a", false, "b" }, all_of(coming { "a\n", long, long, long, "\nb\n" }))
  end)

  it("takes no more than may wait from a client that never stops", function()
    local incoming, taken = coming({ ("{}\n"):rep(100) }, true)
    incoming:look()
    assert.equal(300, taken())
    incoming:look()
    assert.equal(300, taken())
    for _ = 1, 60 do incoming:next() end
    incoming:look()
    assert.equal(600, taken())
  end)
end)
