-- A checkout that several share: what a second user is told.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

local NOBODY = "65534"


describe("another user's runs", function()
  local top = bundle.scratch(before_each, after_each)

  -- As somebody who may not look into the folder: root may, so root becomes nobody.
  local function as_other(...)
    local result = assert(spawn.run({ "sh", "-c", [[
      if [ "$(id -u)" = 0 ]; then
        exec setpriv --reuid=]] .. NOBODY .. [[ --regid=]] .. NOBODY .. [[ --clear-groups "$@"
      fi
      exec "$@"]], "sh", sys.executable(), ... }, { stdout = top() .. "/out",
      stderr = top() .. "/err", timeout = 60, env = { HOME = "/proc/none" } }))
    return result.code, assert(fs.read(top() .. "/err"))
  end

  it("are said to be theirs, and not that there are none", function()
    local root = top() .. "/runs"
    assert(fs.mkdirs(root))
    assert(fs.chmod(root, 0))
    local code, said = as_other("ls", "--root", root)
    assert(spawn.run { "chmod", "700", root }) -- fs.chmod opens it, which its owner may not
    assert.equal(1, code)
    assert.equal("llmprof: " .. root .. ": Permission denied\n  where it is another user's, keep "
      .. "your runs elsewhere: run.root=DIR, for good in $XDG_CONFIG_HOME/llmprof/config.yaml\n",
      said)
  end)
end)
