-- Help: everything there is has a line and an example, and every example runs.
local bundle = require "tests.lua.support.bundle"
local evaluate = require "llmprof.cli.repl.evaluate"
local help = require "llmprof.query.session.help"
local fs = require "llmprof.fs"
local globals = require("llmprof.query.session").globals
local group = require "llmprof.query.group"
local methods = require("llmprof.query.session").methods
local query = require "llmprof.query"
local session = require "llmprof.query.session"
local whatif = require "llmprof.whatif"

local fields = help.fields

local FOLDERS = { "tests/fixtures/recorded/deepseek_ocr", "tests/fixtures/recorded/vllm_serve",
  "tests/fixtures/small", "tests/fixtures/cpu_samples" }

local FRAMES = { "kernels", "ops", "transfers", "api", "ranges", "stages", "steps", "collectives",
  "gaps", "layers", "counters", "samples", "cpu_samples" }


local function known(list)
  local map = {}
  for _, entry in ipairs(list) do
    assert(not map[entry[1]], "twice: " .. entry[1])
    map[entry[1]] = entry
  end
  return map
end


describe("help", function()
  local top = bundle.scratch(before_each, after_each)

  it("knows every method", function()
    local has = known(methods)
    for _, name in ipairs(query.methods) do assert(has[name], "no help about " .. name) end
    for name in pairs(group.class) do
      assert(has[name] or name:find "^__", "no help about groups' " .. name)
    end
  end)

  it("knows every column of every frame", function()
    local has = known(fields)
    for _, folder in ipairs(FOLDERS) do
      local s = session.open { folder }
      for _, name in ipairs(FRAMES) do
        local there, frame = pcall(function() return s[name] end)
        if not there then
          assert.matches(name .. ": no file was given that has it", frame.message, 1, true)
        end
        for _, column in ipairs(there and frame:columns().name or {}) do
          assert(has[column] or has[name .. "." .. column], ("no help about %s.%s")
            :format(name, column))
        end
      end
    end
  end)

  it("says of each what it is, with an example", function()
    local s = session.open { FOLDERS[1] }
    for _, list in ipairs { methods, fields, globals } do
      for _, entry in ipairs(list) do
        local said = s.help(entry[1]:match "[^.]*$")
        assert(said:find(entry[2], 1, true), said)
        assert(said:find(help.example(entry), 1, true), "no example of " .. entry[1])
      end
    end
  end)

  it("has examples that name what they are about, and run", function()
    local aliases = require("llmprof.query.columns").aliases
    local ctx = bundle.run("recipes/deepseek_ocr.lua", top() .. "/run", { "capture=recorded" })
    local places = {}
    for i, path in ipairs { ctx.run.dir, FOLDERS[2], FOLDERS[3], FOLDERS[4] } do
      local environment, opened = session.environment { path }
      environment.whatif = whatif.asker(function() return opened.files end)
      places[i] = environment
    end
    local function run(code)
      local why
      code = code:gsub('"stages.csv"', ("%q"):format(top() .. "/stages.csv"))
      for _, environment in ipairs(places) do
        local chunk = assert(evaluate.compile(code, "=example", environment))
        local text, err = evaluate.run(chunk)
        if text and text ~= "no rows\n" and text ~= "nil\n" then return nil end
        why = err and err.message or text
      end
      return why
    end
    local wrong = {}
    for _, list in ipairs { methods, fields, globals } do
      for _, entry in ipairs(list) do
        local bare = entry[1]:match "[^.]*$"
        local said = { bare }
        for alias, full in pairs(aliases) do
          if full == bare then said[#said + 1] = alias end
        end
        local named = false
        for _, word in ipairs(said) do
          named = named or help.example(entry):find(word, 1, true) ~= nil
        end
        if not named then wrong[#wrong + 1] = entry[1] .. ": not in its example" end
        local code = help.example(entry)
        local why = run(code)
        if why then wrong[#wrong + 1] = ("%s: %s: %s"):format(entry[1], code, why) end
      end
    end
    assert(fs.stat(top() .. "/stages.csv"))
    assert.equal("", table.concat(wrong, "\n"))
  end)
end)
