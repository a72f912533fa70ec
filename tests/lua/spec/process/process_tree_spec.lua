local process_tree = require "llmprof.process.child"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

describe("llmprof.process.child", function()
  it("has a process, what it started, and what that did", function()
    local lines = {}
    local child <close> = assert(spawn.start({ "/bin/sh", "-c",
      "sleep 1000 & echo $!; exec setsid --wait sh -c 'echo ready; sleep 1000'" },
      { on_line = function(line) lines[#lines + 1] = line end }))
    while #lines < 2 do assert(child:pump(10)) end
    local tree, found = process_tree.of(child:pid()), {}
    for _, process in ipairs(tree) do found[process.pid] = process end
    assert.equal(child:pid(), tree[1].pid)
    local sleeper = assert(found[tonumber(lines[1])])
    assert.equal(child:pid(), sleeper.parent)
    assert.is_true(#tree >= 3) -- also what has a session of its own
    assert.is_true(process_tree.lives(sleeper))
    assert.is_false(process_tree.lives { pid = sleeper.pid, started = "0" })
    for _, process in ipairs(tree) do
      if process.pid ~= child:pid() then sys.kill(process.pid, "SIGKILL") end
    end
    child:stop()
    assert.same({}, process_tree.of(child:pid()))
  end)
end)
