local errors = require "llmprof.process.errors"
local raised = require("llmprof.error").new
local failure = require "tests.lua.support.failure"

describe("llmprof.process.errors", function()
  it("raises errors with a kind and more", function()
    local ok, err = pcall(errors.raise, "tool", "no nsys", { hint = "install it", detail = "d" })
    assert.is_false(ok)
    assert.is_true(errors.is(err))
    assert.same({ "tool", "no nsys", "install it", "d" },
      { err.kind, err.message, err.hint, err.detail })
    assert.equal("no nsys", tostring(err))
    assert.is_false(errors.is { kind = "tool", message = "m" })
    assert.is_false(errors.is "text")
  end)

  it("has an exit status for each kind", function()
    assert.same({ failed = 1, usage = 2, tool = 3, nothing = 4, gate = 5, undecided = 6,
      launcher = 125, not_executable = 126, no_program = 127, interrupted = 130, closed = 141 },
      errors.status)
  end)

  it("checks what may have failed", function()
    assert.equal(0, errors.check(0, "m"))
    assert.same({ "failed", "m" }, failure(errors.check, nil, "m"))
    assert.same({ "usage", "unknown error" }, failure(errors.check_as, "usage", false))
    assert.same({ "interrupted", "m" }, failure(errors.check, nil, "m", "interrupted"))
    assert.same({ "failed", "out of memory" },
      failure(errors.check, nil, "x: Cannot allocate memory", "nomem"))
    local _, err = pcall(errors.check, nil, "m", "denied")
    assert.same({ "failed", "denied" }, { err.kind, err.code })
  end)

  describe("as a message handler", function()
    local function handled(f, ...)
      return select(2, xpcall(f, errors.handler, ...))
    end

    it("lets llmprof's own errors pass", function()
      local err = handled(errors.raise, "usage", "m")
      assert.same({ "usage", "m", nil }, { err.kind, err.message, err.bug })
    end)

    it("takes everything else for a bug", function()
      local err = handled(error, "oops", 0)
      assert.same({ "failed", "oops", true }, { err.kind, err.message, err.bug })
      assert.matches("^stack traceback:", err.detail)
      assert.equal("bad argument #1 to 'string.rep' (string expected, got no value)",
        handled(string.rep).message)
    end)

    it("takes words about memory for any others", function()
      for _, message in ipairs { "CUDA out of memory on rank 3", "x.lua:3: not enough memory" } do
        assert.same({ message, true }, { handled(error, message, 0).message,
          handled(error, message, 0).bug })
      end
    end)

    it("is not called where memory ends", function()
      local ok, err = errors.call(error, "not enough memory", 0) -- which is what Lua raises then
      assert.same({ false, "nomem" }, { ok, err.code })
    end)

    it("names no file where the system has no memory for it", function()
      local function said(message)
        return select(2, errors.call(errors.check, nil, message, "nomem")).message
      end
      assert.equal("out of memory", said "runs/first: Cannot allocate memory")
      assert.equal("out of memory: more than 9 bytes (limits.bytes)",
        said "out of memory: more than 9 bytes (limits.bytes)")
    end)

    it("knows an interruption by its kind, not by its words", function()
      local err = handled(error, raised { kind = "interrupted", message = "m" })
      assert.is_true(errors.is_interrupt(err))
      for _, message in ipairs { "interrupted", "x.lua:3: interrupted" } do
        assert.equal("failed", handled(error, message, 0).kind, message)
        assert.is_false(errors.is_interrupt(message))
      end
    end)
  end)
end)
