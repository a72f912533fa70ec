local bundle = require "tests.lua.support.bundle"
local files = require "llmprof.base.files"
local fs = require "llmprof.fs"

describe("llmprof.base.files", function()
  local top = bundle.scratch(before_each, after_each)

  it("finds absolute names", function()
    assert(fs.write(top() .. "/a.txt", "text"))
    assert.equal(top() .. "/a.txt", files.find_file(top() .. "/a.txt"))
    assert.is_nil(files.find_file(top()))
    assert.equal(top(), files.find_folder(top()))
    assert.is_nil(files.find_folder(top() .. "/a.txt"))
    assert.same({ "text", top() .. "/a.txt" }, { files.read(top() .. "/a.txt") })
  end)

  it("prefers the disk to what is built in", function()
    local contents, where = files.read "conf/nsys/default.yaml"
    assert.equal("conf/nsys/default.yaml", where)
    assert.equal(fs.read "conf/nsys/default.yaml", contents)
  end)

  it("says what is wrong with a name", function()
    assert.same({ nil, "a/b.yaml: no such file, nor is it built in" }, { files.read "a/b.yaml" })
    assert.same({ nil, top() .. ": not a file" }, { files.read(top()) })
    assert.same({ nil, "an empty file name" }, { files.read "" })
  end)

  it("lists names without their ending, on disk and built in", function()
    assert.same({ "deep", "default", "light" }, files.names("conf/nsys", ".yaml"))
    assert.same({}, files.names("conf/none", ".yaml"))
    assert(fs.write(top() .. "/b.x", ""))
    assert(fs.write(top() .. "/a.x", ""))
    assert(fs.write(top() .. "/c.y", ""))
    assert.same({ "a", "b" }, files.names(top(), ".x"))
  end)
end)
