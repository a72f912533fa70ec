local nvtx = require "llmprof.nvtx"
local lfs = require "lfs"

local host = lfs.symlinkattributes("/proc/self/exe", "target")
local tool = host:match "^(.*)/bin/" .. "/tests/c/libfake_nvtx.so"

local script = [[
local nvtx = require "llmprof.nvtx"
nvtx.push "prefill"
nvtx.mark "here"
nvtx.pop()
nvtx.stop(nvtx.start "decode")
local phases <close> = nvtx.domain "phases"
phases:push "analyse"
phases:mark "there"
phases:pop()
phases:stop(phases:start "render")
]]

-- What the tool wrote down while another llmprof ran the script. NVTX looks
-- for a tool once in a process, so this one is of no use for that.
local function recorded()
  local source, log = os.tmpname(), os.tmpname()
  local file = assert(io.open(source, "w"))
  file:write(script)
  file:close()
  local ok = os.execute(("NVTX_INJECTION64_PATH='%s' FAKE_NVTX_LOG='%s' '%s' exec '%s'")
    :format(tool, log, host, source))
  local text = assert(io.open(log)):read "a"
  os.remove(source)
  os.remove(log)
  return ok and text
end

local _, why = nvtx.available()
local built_in = why ~= "llmprof was built without NVTX"

describe("llmprof.nvtx", function()
  it("says whether a tool records, and why not", function()
    local available, reason = nvtx.available()
    if os.getenv "NVTX_INJECTION64_PATH" then
      assert.is_boolean(available)
    else
      assert.is_false(available)
      assert.equal(built_in and
        "no tool is attached: NVTX_INJECTION64_PATH is not set"
        or "llmprof was built without NVTX", reason)
    end
  end)

  it("reaches the tool that is attached", function()
    assert.equal(built_in and [[
push prefill
mark here
pop
start decode 1
end 1
create phases
phases: push analyse
phases: mark there
phases: pop
phases: start render 2
phases: end 2
destroy phases
]] or "", recorded())
  end)

  it("does nothing without a tool", function()
    if os.getenv "NVTX_INJECTION64_PATH" then return end
    nvtx.push "a"
    nvtx.mark "b"
    nvtx.pop()
    nvtx.pop()
    assert.equal(0, nvtx.start "c")
    nvtx.stop(0)
    assert.equal(0, nvtx.domain("d"):start "e")
  end)

  it("refuses closed domains and wrong arguments", function()
    local domain = nvtx.domain "d"
    domain:close()
    domain:close()
    assert.has_error(function() domain:push "a" end,
      "calling 'push' on bad self (llmprof.nvtx.domain is closed)")
    assert.has_error(function() nvtx.push() end,
      "bad argument #1 to 'push' (string expected, got no value)")
    assert.has_error(function() nvtx.stop "x" end,
      "bad argument #1 to 'stop' (number expected, got string)")
    assert.has_error(function() nvtx.domain {} end,
      "bad argument #1 to 'domain' (string expected, got table)")
  end)
end)
