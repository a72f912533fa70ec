local lazy = require "llmprof.io.lazy"


describe("llmprof.io.lazy", function()
  local loads

  before_each(function()
    loads = 0
    package.preload["llmprof_spec.late"] = function()
      loads = loads + 1
      return { answer = function() return 42 end }
    end
  end)

  after_each(function()
    package.preload["llmprof_spec.late"], package.loaded["llmprof_spec.late"] = nil, nil
  end)

  it("loads a module when one of its fields is read", function()
    local late = lazy "llmprof_spec.late"
    assert.equal(0, loads)
    assert.equal(42, late.answer())
    assert.equal(42, late.answer())
    assert.equal(1, loads)
  end)

  it("fails where it is used when there is no such module", function()
    local none = lazy "llmprof_spec.none"
    assert.has_error(function() return none.answer end)
  end)
end)
