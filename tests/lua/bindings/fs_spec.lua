local fs = require "llmprof.fs"

describe("llmprof.fs", function()
  local top

  before_each(function() top = assert(fs.temp_dir "llmprof-test-") end)
  after_each(function() assert(fs.remove_tree(top)) end)

  local function failure(path, rest, code)
    return { n = 3, nil, path .. rest, code }
  end

  it("writes, reads and lists", function()
    assert.is_true(fs.mkdirs(top .. "/a/b"))
    assert.is_true(fs.mkdir(top .. "/a/c"))
    assert.is_true(fs.write(top .. "/a/file", "bytes\0\xff"))
    assert.equal("bytes\0\xff", fs.read(top .. "/a/file"))
    assert.is_true(fs.write(top .. "/a/file", ""))
    assert.equal("", fs.read(top .. "/a/file"))
    assert.same({ "b", "c", "file" }, fs.list(top .. "/a"))
    assert.same({}, fs.list(top .. "/a/b"))
  end)

  it("tells what an entry is", function()
    fs.write(top .. "/file", "123")
    assert.is_true(fs.symlink("file", top .. "/link"))
    local info = fs.stat(top .. "/link")
    assert.equal("file", info.type)
    assert.equal(3, info.size)
    assert.equal("integer", math.type(info.mtime_ns))
    assert.equal(6 * 64, info.mode & 6 * 64)
    assert.equal("link", fs.lstat(top .. "/link").type)
    assert.equal("directory", fs.stat(top).type)
    assert.equal("other", fs.stat("/dev/null").type)
    assert.is_true(fs.access(top .. "/file", "rw"))
    assert.is_true(fs.access(top .. "/file"))
    assert.same(failure(top .. "/file", ": Permission denied", "denied"),
      table.pack(fs.access(top .. "/file", "x")))
  end)

  it("copies, renames and removes", function()
    fs.write(top .. "/a", "text")
    assert.is_true(fs.copy(top .. "/a", top .. "/b"))
    assert.is_true(fs.write_soon(top .. "/soon", "text"))
    assert.is_true(fs.copy_soon(top .. "/soon", top .. "/copy"))
    assert.is_true(fs.settle(top))
    assert.equal("text", fs.read(top .. "/copy"))
    assert.is_true(fs.remove(top .. "/soon") and fs.remove(top .. "/copy"))
    assert.is_true(fs.rename(top .. "/b", top .. "/c"))
    assert.equal("text", fs.read(top .. "/c"))
    assert.is_true(fs.remove(top .. "/a"))
    assert.same({ "c" }, fs.list(top))
    assert.is_true(fs.mkdirs(top .. "/x/y"))
    assert.same(failure(top .. "/x", ": Directory not empty", "io"),
      table.pack(fs.remove(top .. "/x")))
    assert.is_true(fs.remove_tree(top .. "/x"))
    assert.same({ "c" }, fs.list(top))
  end)

  it("knows places", function()
    assert.equal("/", fs.realpath "/proc/..")
    assert.equal(fs.realpath ".", fs.cwd())
    assert.is_true(fs.free_space(top) > 0)
    assert.matches("/llmprof%-test%-%w+$", top)
  end)

  it("says what failed, path first", function()
    local missing = top .. "/missing"
    for _, name in ipairs { "stat", "lstat", "list", "read", "remove", "remove_tree",
      "readlink", "realpath", "free_space", "access" } do
      assert.same(failure(missing, ": No such file or directory", "notfound"),
        table.pack(fs[name](missing)), name)
    end
    fs.write(top .. "/file", "")
    local below = top .. "/file/below"
    assert.same(failure(below, ": Not a directory", "notfound"),
      table.pack(fs.write(below, "x")))
    assert.same(failure(below, ": Not a directory", "notfound"), table.pack(fs.mkdir(below)))
    assert.same(failure(top, ": File exists", "io"), table.pack(fs.mkdir(top)))
    assert.same(failure(top, ": not replaced: it is no regular file", "denied"),
      table.pack(fs.write(top, "x")))
  end)

  it("raises on misuse", function()
    assert.has_error(function() fs.stat "a\0b" end,
      "bad argument #1 to 'stat' (string with a NUL byte)")
    assert.has_error(function() fs.access("a", "q") end,
      "bad argument #2 to 'access' (only r, w and x expected)")
    assert.has_error(function() fs.read("a", 0) end,
      "bad argument #2 to 'read' (positive limit expected)")
    assert.has_error(function() fs.temp_dir "a/b" end,
      "bad argument #1 to 'temp_dir' (prefix with a \"/\")")
    assert.has_error(function() fs.write("a") end,
      "bad argument #2 to 'write' (string expected, got no value)")
  end)

  it("locks", function()
    local lock = assert(fs.lock(top .. "/lock"))
    assert.same(failure(top .. "/lock", ": in use by another llmprof", "busy"),
      table.pack(fs.lock(top .. "/lock")))
    lock:close()
    lock:close()
    do
      local held <close> = assert(fs.lock(top .. "/lock", { wait = true })) -- luacheck: ignore
    end
    assert(fs.lock(top .. "/lock")):close()
    assert.has_error(function() fs.lock(top, { wait = 1 }) end)
  end)

  it("makes private folders, and sweeps those of nobody", function()
    local path, lock = assert(fs.private_dir(top))
    assert.equal(7 * 64, fs.stat(path).mode)
    assert.equal(0, fs.sweep(top))
    assert(fs.write(path .. "/secret", "s"))
    lock:close()
    assert.equal(1, fs.sweep(top))
    assert.same({}, fs.list(top))
    assert.same(failure(top .. "/none", ": No such file or directory", "notfound"),
      table.pack(fs.private_dir(top .. "/none")))
  end)

  it("finds names below a folder, and follows no link there", function()
    assert.equal(top .. "/a/b", fs.beneath(top, "a/b"))
    assert(fs.symlink("/etc", top .. "/link"))
    assert.same(failure(top .. "/link", ": a symbolic link, which is not followed", "denied"),
      table.pack(fs.beneath(top, "link/passwd")))
  end)
end)
