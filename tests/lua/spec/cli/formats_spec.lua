-- Formats are declared in tables/init.lua; this asks for each everywhere.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local resources = require "llmprof.resources"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"
local table_options = require "llmprof.cli.table_options"
local tables = require "llmprof.tables"

local TRACE = "tests/fixtures/small/run.sqlite"
local SIDES = { "tests/fixtures/compare/eager", "tests/fixtures/compare/graph" }

-- Words of a command that prints a table; ROOT holds the run `run`.
local words_of = {
  baseline = { "list", "--root", "ROOT" },
  check = { "tests/standin/recipe.lua" }, compare = SIDES,
  doctor = { "python=tests/standin/python" },
  ls = { "--root", "ROOT" }, operators = { "tests/fixtures/small/operators.json" },
  ranks = { "tests/fixtures/ranks4" }, show = { "ROOT/run", "kernels" },
  stats = { "-r", "cuda_gpu_kern_sum", TRACE },
  whatif = { "tests/fixtures/ranks4/rank0.sqlite" },
}


-- Exit statuses of those that say something of the machine or of what they look at.
local statuses = { doctor = { [0] = true, [3] = true } }

-- The commands with a choice of formats for tables: name -> names of these.
local function commands()
  local found = {}
  for _, path in ipairs(resources.list "lua/llmprof/cli/commands/") do
    local command = require("llmprof.cli.commands." .. path:match "([^/]+)%.lua$")
    for _, option in ipairs(command.options or {}) do
      if option == table_options.format or option == table_options.document_format then
        found[command.name] = option.choices
      end
    end
  end
  return found
end


describe("an output format", function()
  local top = bundle.scratch(before_each, after_each)

  local function print_as(format, command)
    local argv = { sys.executable(), command, "-f", format }
    for _, word in ipairs(words_of[command]) do argv[#argv + 1] = word:gsub("ROOT", top()) end
    local result = assert(spawn.run(argv, { stdout = top() .. "/out", stderr = top() .. "/err",
      env = { NO_COLOR = "1" }, timeout = 60 }))
    assert.is_true((statuses[command] or { [0] = true })[result.code],
      assert(fs.read(top() .. "/err")))
    return assert(fs.read(top() .. "/out"))
  end

  it("is offered by every command that prints tables, and prints there", function()
    assert.is_nil((select(2, bundle.run_small(top(), 'stages = { "decode" }'))))
    for command, choices in pairs(commands()) do
      assert.is_truthy(words_of[command], command .. ": how is it called?")
      local documents = command == "compare" or command == "whatif"
      assert.same(documents and table_options.document_format.choices
        or table_options.format.choices, choices, command)
      local seen = {}
      for _, format in ipairs(choices) do
        local said = print_as(format, command)
        assert.is_true(#said > 0, command .. " -f " .. format)
        assert.is_nil(seen[said], command .. " -f " .. format .. ": as another")
        seen[said] = true
      end
    end
  end)

  it("has a file's extension of its own, and is in the manual", function()
    local pages, seen = { stats = assert(fs.read "docs/stats.md"),
      repl = assert(fs.read "docs/repl.md") }, {}
    for _, format in ipairs(tables.formats()) do
      assert.is_nil(seen[format.extension])
      seen[format.extension] = true
      assert.matches("`" .. format.name .. "`", pages.stats, 1, true)
      assert.matches("." .. format.extension, pages.stats, 1, true)
      assert.matches("." .. format.extension, pages.repl, 1, true)
    end
  end)
end)
