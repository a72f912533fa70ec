-- What happens to every command when its output cannot be written, or nobody reads it.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

local TRACE = "tests/fixtures/small/run.sqlite"
local RECORDED = { "capture=recorded", "recorded=tests/fixtures/small" }
local RECIPE = "tests/standin/recipe.lua"

-- Shell before the words of a command: to a full disk; to a pipe whose reader is gone.
local FULL = 'exec "$@" >/dev/full'
local UNREAD = 'exec 3> >(exit 0); wait $!; exec "$@" >&3'

-- Words of a command that prints; RUN stands for a bundle's folder.
local commands = {
  { "--help" }, { "--version" }, { "help" }, { "help", "recipes" }, { "stats", "--help" },
  { "stats", TRACE }, { "stats", "-f", "csv", TRACE }, { "stats", "-f", "json", TRACE },
  { "-e", "kernels", TRACE }, { "-e", "print(1)", TRACE }, { "-e", "io.write 'x'", TRACE },
  { "compare", TRACE, TRACE }, { "compare", "-f", "json", TRACE, TRACE }, { "doctor", "--json" },
  { "completion", "bash" }, { "complete", "--", "st" }, { "ls", "--root", "ROOT" },
  { "ls", "RUN" }, { "show", "RUN" },
  { "show", "RUN", "kernels" }, { "show", "RUN", "kernels", "-f", "csv" },
  { "show", "RUN", "kernels", "-f", "json" }, { "-e", "results", "RUN" },
  { "operators", "RUN/workload/operators.json" }, { "scrub", TRACE, "-o", "ROOT/s.sqlite" },
  { "export", TRACE, "-o", "ROOT/p.json" }, { "baseline", "save", "RUN", "b", "--root", "ROOT" },
  { "baseline", "list", "--root", "ROOT" }, { RECIPE, "--print-config" },
  { RECIPE, "--dry-run", table.unpack(RECORDED) },
  { "new", "ROOT/made.lua" }, { "check", RECIPE }, { "open", "RUN" },
  { "clean", "--root", "ROOT", "--keep", "9" },
}


-- A bundle for commands to read; root holds it.
local function make_run(root)
  assert(fs.mkdirs(root))
  local words = { sys.executable(), RECIPE, "run.root=" .. root, "run.id=r", "-q" }
  local result = assert(spawn.run(table.move(RECORDED, 1, #RECORDED, #words + 1, words)))
  assert(result.ok)
  return root .. "/r"
end


describe("a command's output", function()
  local top = bundle.scratch(before_each, after_each)

  -- Run words behind a piece of shell that sends their output somewhere.
  local function run(shell, words)
    local argv = { "bash", "-c", shell, "bash", sys.executable() }
    for _, word in ipairs(words) do
      argv[#argv + 1] = word:gsub("RUN", top() .. "/root/r"):gsub("ROOT", top() .. "/root")
    end
    local err = top() .. "/err"
    local result = assert(spawn.run(argv, { stderr = err, stdout = top() .. "/out", timeout = 60,
      env = { NO_COLOR = "1", BROWSER = "true" } }))
    return result.code, assert(fs.read(err))
  end

  local function each(shell, check)
    make_run(top() .. "/root")
    for _, words in ipairs(commands) do
      local code, err = run(shell, words)
      check(table.concat(words, " "), code, err)
    end
  end

  it("that finds a full disk is an error", function()
    each(FULL, function(name, code, err)
      assert.equal(name .. ": 1", ("%s: %d"):format(name, code))
      assert.matches("llmprof: standard output: No space left on device\n", err, 1, true)
    end)
  end)

  it("that nobody reads ends it in silence, with one status", function()
    each(UNREAD, function(name, code, err)
      assert.equal(name .. ": 141", ("%s: %d"):format(name, code))
      assert.is_nil(err:find("standard output", 1, true))
      assert.is_nil(err:find("traceback", 1, true))
    end)
  end)

  it("that is closed is an error, and goes into no other file", function()
    each('exec "$@" >&-', function(name, code, err)
      assert.equal(name .. ": 1", ("%s: %d"):format(name, code))
      assert.matches("llmprof: standard output: Bad file descriptor\n", err, 1, true)
    end)
  end)

  it("is no reason for a run to stop, and a bundle that is whole is no error", function()
    for shell, status in pairs { [UNREAD] = 0, [FULL] = 1 } do
      local code, err = run(shell, { RECIPE, "out=ROOT", table.unpack(RECORDED) })
      assert.equal(status, code)
      assert.equal(status == 0, err == "")
      assert.equal("done", assert(json.load(top() .. "/root/manifest.json")).status)
      assert(fs.remove_tree(top() .. "/root"))
    end
  end)

  it("does not matter to an error of another kind", function()
    assert.equal(2, (run('exec "$@" >/dev/full', { "stats" })))
    assert.equal(2, (run('exec "$@" >&-', { "stats", "/proc/none" })))
  end)

  it("may be lost on standard error without harm", function()
    assert.equal(0, (run('exec "$@" 2>/dev/full', { "stats", TRACE })))
    assert.equal(0, (run('exec "$@" 2>&-', { "stats", TRACE })))
  end)
end)
