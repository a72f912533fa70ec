-- The page of the modules that are written in C: it has every function and method that there
-- is, and its examples run and print what they say.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local reference = require "llmprof.query.reference"
local session = require "llmprof.query.session"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

-- Files that the examples name.
local FILES = { ["run.sqlite"] = "tests/fixtures/small/run.sqlite",
  ["run.1.sqlite"] = "tests/fixtures/repeats/run.1.sqlite",
  ["run.2.sqlite"] = "tests/fixtures/repeats/run.2.sqlite",
  ["raw.csv"] = "tests/fixtures/ncu/tiny_h200_raw.csv",
  ["run.pt.trace.json"] = "tests/fixtures/torch/run.json" }


describe("the page of modules", function()
  local top = bundle.scratch(before_each, after_each)
  local names = reference.module_names()

  it("has every module that C registers", function()
    local listed, known = assert(fs.read "core/lua/modules.c"), {}
    for _, name in ipairs(names) do known[name] = true end
    for name in listed:gmatch "X%(([%l_]+)%)" do
      assert.is_true(known[name], name)
      known[name] = nil
    end
    assert.is_nil(next(known))
  end)

  it("has every function and field of each, and no other", function()
    for _, name in ipairs(names) do
      local page, module, said = reference.module(name), require("llmprof." .. name), {}
      for entry in page:gmatch(("\n%s%%.([%%l_%%d]+)[%%({:]"):format(name)) do
        assert.is_not_nil(module[entry], ("there is no %s.%s"):format(name, entry))
        said[entry] = true
      end
      for key in pairs(module) do
        assert.is_true(said[key], ("nothing says what %s.%s is"):format(name, key))
      end
    end
  end)

  it("has every method, but for close", function()
    local said = {}
    for method in reference.modules():gmatch "\n[%l_]+:([%l_]+) ?[%({]" do said[method] = true end
    local classes = 0
    for key, class in pairs(debug.getregistry()) do
      local methods = type(key) == "string" and key:find "^llmprof%." and class.__index
      for method in pairs(type(methods) == "table" and methods or {}) do
        assert.is_true(said[method] or method == "close", key .. ":" .. method)
        classes = classes + 1
      end
    end
    assert.is_true(classes > 50)
  end)

  -- What an example printed, and what it says that it prints; both with tabs as two spaces.
  local function run(name, code)
    local printed, said = {}, {}
    assert(fs.write(top() .. "/example.lua", ("local %s = require 'llmprof.%s'\n%s\n"):format(
      name == "error" and "_" or name, name, code)))
    local result = assert(spawn.run({ assert(sys.executable()), "exec", "example.lua" },
      { cwd = top(), on_line = function(line) printed[#printed + 1] = line:gsub("\t", "  ") end }))
    for text in (code .. "\n"):gmatch "%-%-> ?(.-)\n" do said[#said + 1] = text end
    return result, printed, said
  end

  it("has an example of each, which runs and prints what it says", function()
    for name, from in pairs(FILES) do assert(fs.copy(from, top() .. "/" .. name)) end
    for _, name in ipairs(names) do
      local _, code = reference.module(name)
      assert.is_truthy(code:find(name == "error" and "failure" or name .. "[.:]"), name)
      local result, printed, said = run(name, code)
      assert.same({ name, 0 }, { name, result.code }, table.concat(printed, "\n"))
      if #said > 0 then
        local wanted = {}
        for _, line in ipairs(printed) do wanted[line] = true end
        for _, line in ipairs(said) do
          assert.is_true(wanted[line], ("%s: '%s' is not in\n%s"):format(name, line,
            table.concat(printed, "\n")))
        end
      end
    end
  end)

  it("is behind help at the prompt and in the shell", function()
    local s = session.open {}
    assert.matches("^llmprof.spawn\n\nChild processes.\n", s.help "spawn")
    assert.equal(s.help "csv", s.help(require "llmprof.csv"))
    assert.matches('\nmodule: help%(require "llmprof.trace"%)\n$', s.help "trace")
    assert.equal(reference.module "sqlite", reference.page "llmprof.sqlite")
    assert.matches("\n## llmprof.yaml\n", reference.page "modules", 1, true)
  end)
end)
