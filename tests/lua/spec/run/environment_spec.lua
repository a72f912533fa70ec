local fs = require "llmprof.fs"
local identity = require "llmprof.run.identity"
local json = require "llmprof.json"
local spawn = require "llmprof.spawn"
local version = require "llmprof.version"

-- Everything that env.json may hold of a machine, and nothing else: no variables,
-- no host or user names, no paths.
local machine = [[{ "type": "object", "additionalProperties": false, "required": ["kernel"],
  "properties": { "kernel": {}, "machine": {}, "cpu": {}, "cores": {}, "memory_bytes": {},
    "container": {}, "llmprof": {}, "compiler": {}, "gpus": {}, "gpus_reason": {}, "driver": {},
    "cuda": {}, "nsys": {}, "ncu": {}, "commit": {}, "commit_changed": {} } }]]

local function check(record)
  local schemas <close> = json.schemas()
  assert(schemas:add("machine", machine))
  return schemas:check("machine", record)
end


describe("llmprof.run.identity", function()
  it("takes what is known of the machine that was measured", function()
    local said = { driver = "580", cuda = "13.0" }
    local record = identity.environment(said)
    assert.equal(said, record.captured_on)
    assert.equal(version.version, record.analysed_on.llmprof)
    assert.is_nil(check(record.analysed_on))
    assert.is_nil(identity.environment(nil).captured_on)
  end)

  it("describes this machine for a capture made now, and nothing secret", function()
    local captured = identity.captured_here({ nsys = { version = "2025.3.1", path = "/p" },
      ncu = { version = "2025.3.2" } }, { path = "recipes/toy_llm.lua" })
    assert.same({ "2025.3.1", "2025.3.2" }, { captured.nsys, captured.ncu })
    assert.is_table(captured.gpus)
    assert.is_nil(check(captured))
    local text = json.encode(identity.environment(captured))
    for _, name in ipairs { "PATH", "HOME", "HOSTNAME" } do
      local value = os.getenv(name)
      if value and #value > 3 then assert.is_nil(text:find(value, 1, true), name) end
    end
  end)

  it("knows the commit of a folder, and whether a file was changed since", function()
    local folder = assert(fs.temp_dir "llmprof-test-")
    local function git(...)
      assert(assert(spawn.run({ "git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e",
        ... }, { timeout = 60 })).ok)
    end
    assert.is_nil(identity.commit(folder))
    git "init"
    assert(fs.write(folder .. "/code", "1"))
    git("add", ".")
    git("commit", "-m", "one")
    local hash, changed = identity.commit(folder)
    assert.matches("^" .. ("%x"):rep(40) .. "$", hash)
    assert.is_false(changed)
    assert(fs.write(folder .. "/code", "2"))
    assert.same({ hash, true }, { identity.commit(folder) })
    assert(fs.remove_tree(folder))
  end)
end)
