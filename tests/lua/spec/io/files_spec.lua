local bundle = require "tests.lua.support.bundle"
local child = require "tests.lua.support.child"
local files = require "llmprof.io.files"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local resources = require "llmprof.resources"

describe("llmprof.io.files", function()
  local top = bundle.scratch(before_each, after_each)

  before_each(function() files.set_project(nil) end)
  after_each(function() files.set_project(nil) end)

  local function write(name, text)
    local path = top() .. "/" .. name
    assert(fs.mkdirs(path:match "^(.*)/"))
    assert(fs.write(path, text))
    return path
  end

  it("takes a path as it is typed, else as a name", function()
    local path = write("a.txt", "text")
    assert.same({ "text", path }, { files.read_path(path) })
    assert.same({ nil, top() .. ": not a file" }, { files.read_path(top()) })
    assert.same({ nil, "an empty file name" }, { files.read_path "" })
    local name = "recipes/workloads/toy_llm.cu"
    assert.same({ resources.get(name), name }, { files.read_path(files.BUILT_IN .. name) })
    assert.same({ nil, "none.py: not built in" }, { files.read_path(files.BUILT_IN .. "none.py") })
  end)

  it("finds names in what is built in, and in no path", function()
    assert.same({ resources.get "conf/nsys/default.yaml", "conf/nsys/default.yaml", false },
      { files.read "conf/nsys/default.yaml" })
    assert.equal("built-in:conf/nsys/default.yaml", files.locate "conf/nsys/default.yaml")
    assert.same({ nil, "a/b.yaml: no such file, nor is it built in" }, { files.read "a/b.yaml" })
    assert.is_nil(files.locate(write("c.yaml", "")))
    assert.is_nil(files.locate "tests/../conf/nsys/default.yaml")
    assert.is_nil(files.locate "tests/lua/none.lua")
  end)

  it("finds names in the folders of a recipe, which may be a stranger's", function()
    local conf = write("conf/nsys/light.yaml", "mine")
    local beside = write("recipes/own/conf/nsys/deep.yaml", "own")
    files.set_project(top() .. "/recipes/own/r.lua")
    assert.same({ "mine", conf, true }, { files.read "conf/nsys/light.yaml" })
    assert.same({ "own", beside, true }, { files.read "conf/nsys/deep.yaml" })
    assert.is_false((select(3, files.read "conf/nsys/default.yaml")))
    assert.equal(top() .. "/recipes/own", files.find_folder "recipes/own")
  end)

  it("knows the folders of a recipe by its path alone", function()
    files.set_project "tests/standin/recipe.lua"
    local function found(name) return { select(2, files.read(name)) } end
    assert.same({ "tests/standin/nsys", true }, found "nsys")
    files.set_project "recipes/toy_llm.lua"
    assert.same({ "recipes/toy_llm.lua", true }, found "toy_llm.lua")
    assert.same({ "conf/mode/deep.yaml", true }, found "conf/mode/deep.yaml")
    files.set_project "bootstrap.sh"
    assert.same({ "conf/mode/deep.yaml", true }, found "conf/mode/deep.yaml")
    assert.equal("built-in:recipes/toy_llm.lua", files.locate "recipes/toy_llm.lua")
  end)

  it("follows no link", function()
    local secret = write("secret/x.yaml", "TOPSECRET")
    assert(fs.mkdirs(top() .. "/p/conf/nsys"))
    assert(fs.symlink(secret, top() .. "/p/conf/nsys/light.yaml"))
    assert(fs.symlink(top() .. "/secret", top() .. "/p/conf/linked"))
    files.set_project(top() .. "/p/r.lua")
    for _, name in ipairs { "conf/nsys/light.yaml", "conf/linked/x.yaml" } do
      assert.matches("a symbolic link, which is not followed", failure(files.read, name)[2])
    end
    assert.equal("built-in:conf/nsys/light.yaml", files.locate "conf/nsys/light.yaml")
    assert.is_nil(files.find_folder "conf/linked")
    assert.same({}, files.names("conf/linked", ".yaml"))
  end)

  it("lists names without their ending, on disk and built in", function()
    assert.same({ "deep", "default", "light" }, files.names("conf/nsys", ".yaml"))
    assert.same({}, files.names("conf/none", ".yaml"))
    write("conf/nsys/mine.yaml", "")
    write("conf/nsys/other.txt", "")
    files.set_project(top() .. "/r.lua")
    assert.same({ "deep", "default", "light", "mine" }, files.names("conf/nsys", ".yaml"))
    assert.same({ "deep", "default", "light" }, files.own_names("conf/nsys", ".yaml"))
  end)

  it("finds names of the user's and of $LLMPROF_HOME, not of the working directory", function()
    for place, name in pairs { ["home/conf"] = "h", ["config/llmprof/conf"] = "u",
      ["here/conf"] = "w" } do
      write(("%s/mode/%s.yaml"):format(place, name), "")
    end
    write("home/conf/mode/both.yaml", "of the home")
    write("config/llmprof/conf/mode/both.yaml", "of the user")
    local script = write("list.lua", [[
      local files = require "llmprof.io.files"
      print(table.concat(files.names("conf/mode", ".yaml"), " "), files.read "conf/mode/both.yaml")
    ]])
    local run = child.caller(top, function()
      return { cwd = top() .. "/here", env = { XDG_CONFIG_HOME = top() .. "/config",
        LLMPROF_HOME = top() .. "/home" } }
    end)
    assert.same({ 0, "both deep default h light u\tof the home\t" .. top()
      .. "/home/conf/mode/both.yaml\tfalse\n", "" }, { run("exec", script) })
  end)
end)
