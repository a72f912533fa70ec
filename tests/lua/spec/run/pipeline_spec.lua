local artifacts = require "llmprof.bundle.artifacts"
local bounds = require "llmprof.bounds"
local bundle = require "tests.lua.support.bundle"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local layout = require "llmprof.bundle.layout"
local pipeline = require "llmprof.run.pipeline"
local dataflow = require "llmprof.process.dataflow"

describe("llmprof.run.pipeline", function()
  local top = bundle.scratch(before_each, after_each)
  local real = pipeline.steps

  after_each(function()
    for _, name in ipairs(pipeline.steps) do package.loaded["llmprof.run.steps." .. name] = nil end
    pipeline.steps = real
  end)

  -- Steps in place of the real ones. A step without `run` writes what it makes.
  local function use(steps)
    pipeline.steps = {}
    for i, step in ipairs(steps) do
      step.makes = step.makes or {}
      step.run = step.run or function(ctx)
        for _, name in ipairs(step.makes) do ctx.run:write(name, step.name) end
        return "made"
      end
      pipeline.steps[i] = step.name
      package.loaded["llmprof.run.steps." .. step.name] = step
    end
  end

  -- Run them: what the ui was told, the manifest, the error. resume: the run of
  -- before is continued.
  local function run(resume)
    local out = top() .. "/run"
    local ctx = { resume = resume, run = resume and artifacts.open(out, top())
      or artifacts.create { out = out, recipe = "r" } }
    local ui, said = bundle.listener()
    local err = pipeline.run(ctx, ui)
    return said, assert(json.load(out .. "/manifest.json")), err
  end

  local function failing(kind, message)
    return function() errors.raise(kind, message) end
  end

  -- Change a file of the run at a later time than it was written.
  local function write_later(name, contents)
    local path = top() .. "/run/" .. name
    local before = fs.stat(path).mtime_ns
    repeat assert(fs.write(path, contents)) until fs.stat(path).mtime_ns > before
  end

  it("runs steps in order and writes them down", function()
    use { { name = "a", makes = { "a.txt" } }, { name = "b", needs = { "a.txt" },
      run = function(ctx)
        ctx.command { "tool", "x" }
        ctx.outputs[1] = "a.txt"
        ctx.note "by the way"
        ctx.progress "half"
      end } }
    local said, manifest, err = run()
    assert.is_nil(err)
    assert.same({ "begin a", "done a", "begin b", "command tool x", "progress b", "done b" }, said)
    assert.equal("done", manifest.status)
    for _, step in ipairs(manifest.steps) do
      assert.is_number(step.seconds)
      assert.is_string(step.started)
      step.seconds, step.started = nil, nil
    end
    local file = { { file = "a.txt", bytes = 1 } }
    assert.same({
      { name = "a", status = "done", note = "made", inputs = {}, outputs = file },
      { name = "b", status = "done", notes = { "by the way" }, commands = { { "tool", "x" } },
        inputs = file, outputs = file } }, manifest.steps)
  end)

  it("goes on with steps that can still run", function()
    use { { name = "a", run = failing("tool", "no tool") }, { name = "b", requires = { "a" } },
      { name = "c", requires = { "b" } }, { name = "d", run = failing("failed", "later") },
      { name = "e" } }
    local said, manifest, err = run()
    assert.same({ "begin a", "failed a", "skipped b", "skipped c", "begin d", "failed d",
      "begin e", "done e" }, said)
    assert.same({ "tool", "no tool" }, { err.kind, err.message })
    assert.same({ "failed", "no tool" }, { manifest.status, manifest.message })
    assert.same({ "failed", "no tool" }, { manifest.steps[1].status, manifest.steps[1].message })
    assert.same({ "skipped", "needs the step 'a', which failed" },
      { manifest.steps[2].status, manifest.steps[2].message })
    assert.equal("needs the step 'b', which failed", manifest.steps[3].message)
  end)

  it("tells a bug from a failure", function()
    use { { name = "a", run = function() error "oops" end } }
    local _, _, err = run()
    assert.is_true(err.bug)
    assert.matches("pipeline_spec.lua:%d+: oops$", err.message)
    assert.matches("^stack traceback:", err.detail)
  end)

  it("stops when interrupted", function()
    use { { name = "a", run = failing("interrupted", "interrupted") }, { name = "b" } }
    local said, manifest, err = run()
    assert.same({ "begin a", "failed a" }, said)
    assert.equal("interrupted", err.kind)
    assert.equal("interrupted", manifest.status)
  end)

  it("analyses what is there when a dispensable step is interrupted", function()
    use { { name = "a", run = failing("interrupted", "interrupted"), dispensable = true },
      { name = "b", dispensable = true }, { name = "c" }, { name = "d", requires = { "b" } } }
    local said, manifest, err = run()
    assert.same({ "begin a", "failed a", "skipped b", "begin c", "done c", "skipped d" }, said)
    assert.equal("interrupted", err.kind)
    assert.equal("interrupted", manifest.status)
    assert.same({ "interrupted", "needs the step 'b', which was left out" },
      { manifest.steps[2].message, manifest.steps[4].message })
  end)

  it("stops when interrupted again", function()
    use { { name = "a", run = failing("interrupted", "interrupted"), dispensable = true },
      { name = "b", run = failing("interrupted", "interrupted") }, { name = "c" } }
    assert.same({ "begin a", "failed a", "begin b", "failed b" }, (run()))
  end)

  it("leaves steps out, which is no failure", function()
    local function say_no(ctx) ctx.state.why = "no" end
    use { { name = "a", gives = { why = "a reason" }, run = say_no },
      { name = "b", reads = { "why" },
        left_out = function(ctx) return ctx.state.why, "say yes" end },
      { name = "c", requires = { "b" } }, { name = "d", left_out = function() end } }
    local said, manifest, err = run()
    assert.is_nil(err)
    assert.same({ "begin a", "done a", "skipped b", "skipped c", "begin d", "done d" }, said)
    assert.equal("done", manifest.status)
    assert.same({ name = "b", status = "skipped", message = "no", hint = "say yes" },
      manifest.steps[2])
    assert.equal("needs the step 'b', which was left out", manifest.steps[3].message)
  end)

  it("lets a step fail and finish", function()
    use { { name = "a", run = function(ctx) ctx.fail_later("failed", "in the end") end },
      { name = "b", requires = { "a" } } }
    local said, manifest, err = run()
    assert.same({ "begin a", "done a", "begin b", "done b" }, said)
    assert.same({ "failed", "in the end" }, { err.kind, err.message })
    assert.same({ "in the end" }, manifest.steps[1].notes)
    assert.equal("failed", manifest.status)
  end)

  describe("the state", function()
    -- What running these steps raises.
    local function refused(steps)
      if fs.stat(top() .. "/run") then assert(fs.remove_tree(top() .. "/run")) end
      use(steps)
      local ok, message = pcall(run)
      assert.is_false(ok)
      return (tostring(message):gsub("^[^ ]+:%d+: ", ""))
    end

    -- The message of the step that fails of these.
    local function failure_of(steps)
      use(steps)
      local _, _, err = run()
      return (err.message:gsub("^[^ ]+:%d+: ", ""))
    end

    it("hands on what a step gives", function()
      local seen
      use { { name = "a", gives = { n = "a number" }, run = function(ctx) ctx.state.n = 1 end },
        { name = "b", reads = { "n", "missing" }, run = function(ctx)
          ctx.lack("x", "why", "how")
          seen = { ctx.state.n, ctx.state.missing[1].what }
        end } }
      local _, _, err = run()
      assert.is_nil(err)
      assert.same({ 1, "x" }, seen)
    end)

    it("is what steps declare", function()
      assert.equal("'b' reads 'n', which nothing before it gives",
        refused { { name = "b", reads = { "n" } }, { name = "a", gives = { n = "a number" } } })
      assert.equal("'b' gives 'n', as another does",
        refused { { name = "a", gives = { n = "1" } }, { name = "b", gives = { n = "2" } } })
      assert.equal("'a' gives 'missing', as another does",
        refused { { name = "a", gives = { missing = "not its own" } } })
      assert.equal("'a' requires 'b', which is not before it",
        refused { { name = "a", requires = { "b" } }, { name = "b" } })
    end)

    it("is not touched otherwise", function()
      local gives = { name = "a", gives = { n = "a number" } }
      assert.equal("'b' reads 'n' and does not say so",
        failure_of { gives, { name = "b", run = function(ctx) return ctx.state.n end } })
      assert(fs.remove_tree(top() .. "/run"))
      assert.equal("'b' sets 'n' and does not say so",
        failure_of { gives, { name = "b", reads = { "n" },
          run = function(ctx) ctx.state.n = 2 end } })
    end)
  end)

  describe("steps beside each other", function()
    local least, had

    before_each(function()
      least, had = pipeline.LEAST, bounds.get "limits.threads"
      pipeline.LEAST = 0
      bounds.set("limits.threads", 2)
    end)

    after_each(function()
      pipeline.LEAST = least
      bounds.set("limits.threads", had)
    end)

    -- By whom the work of a step was done: a process.
    local function pid() return fs.readlink "/proc/self" end

    -- Steps of which `x` and `y` can be worked on elsewhere; what `last` read is in `seen`.
    local function use_five(fields)
      local seen = {}
      local steps = { { name = "t", makes = { layout.timeline } },
        { name = "x", requires = { "t" }, makes = { "x.txt" }, gives = { x = "a list" },
          work = function(ctx)
            ctx.run:write("x.txt", "x")
            return { pid = pid(), 1, 2.5 }
          end,
          run = function(ctx, done)
            ctx.state.x = done or { pid = pid(), 1, 2.5 }
            return "found"
          end },
        { name = "y", makes = { "y.txt" },
          work = function(ctx)
            ctx.run:write("y.txt", "y")
            return "y"
          end,
          run = function(_, done) return done or "y" end },
        { name = "a", run = function() end },
        { name = "last", reads = { "x" }, run = function(ctx)
          ctx.note "before"
          seen.x = ctx.state.x
          ctx.note "after"
        end } }
      for i, more in pairs(fields or {}) do
        for key, value in pairs(more) do steps[i][key] = value end
      end
      use(steps)
      return seen
    end

    local IN_TURN = { "begin t", "done t", "begin x", "done x", "begin y", "done y", "begin a",
      "done a", "begin last", "done last" }
    local BESIDE = { "begin t", "done t", "begin a", "done a", "begin last", "begin x", "done x",
      "done last", "begin y", "done y" }

    local function names_of(manifest)
      local names = {}
      for i, step in ipairs(manifest.steps) do names[i] = step.name .. " " .. step.status end
      return names
    end

    it("are seen through when what they give is read, and in the end", function()
      local seen = use_five()
      local said, manifest, err = run()
      assert.is_nil(err)
      assert.same(BESIDE, said)
      assert.same({ "t done", "x done", "y done", "a done", "last done" }, names_of(manifest))
      assert.same({ 1, 2.5 }, { seen.x[1], seen.x[2] })
      assert.not_equal(pid(), seen.x.pid)
      assert.equal("found", manifest.steps[2].note)
      assert.same({ { file = "x.txt", bytes = 1 } }, manifest.steps[2].outputs)
      assert.equal("y", manifest.steps[3].note)
      assert.same({ "before", "after" }, manifest.steps[5].notes)
    end)

    it("are none where there is one thread, little to read, or no memory", function()
      for _, change in ipairs { function() bounds.set("limits.threads", 1) end,
        function() pipeline.LEAST = 100 end } do
        use_five()
        change()
        assert.same(IN_TURN, (run()))
        assert(fs.remove_tree(top() .. "/run"))
        pipeline.LEAST = 0
        bounds.set("limits.threads", 2)
      end
    end)

    it("are none that do not want it", function()
      use_five { [2] = { separable = function() return false end } }
      assert.same({ "begin t", "done t", "begin x", "done x", "begin a", "done a", "begin last",
        "done last", "begin y", "done y" }, (run()))
    end)

    it("are done here where they fail there", function()
      local here, calls = pid(), 0
      local seen = use_five { [2] = {
        work = function()
          if pid() ~= here then error "not there" end
        end,
        run = function(ctx, done)
          assert(done == nil)
          calls = calls + 1
          ctx.state.x = { pid = pid() }
        end }, [3] = { work = function() return print end,
          run = function(_, done)
            errors.raise("failed", done and "done" or "the disk is full")
          end } }
      local said, manifest, err = run()
      assert.same({ 1, here }, { calls, seen.x.pid })
      assert.equal("failed y", said[#said])
      assert.same({ "failed", "the disk is full" }, { err.kind, err.message })
      assert.same({ "t done", "x done", "y failed", "a done", "last done" }, names_of(manifest))
      assert.equal("failed", manifest.status)
    end)

    it("end with what is interrupted", function()
      local other = top() .. "/other"
      use_five { [2] = { work = function()
        assert(fs.write(other, pid()))
        while true do end
      end }, [4] = { run = function()
        while not fs.stat(other) do end
        errors.raise("interrupted", "interrupted")
      end } }
      local said, manifest, err = run()
      assert.same({ "begin t", "done t", "begin a", "failed a" }, said)
      assert.equal("interrupted", err.kind)
      assert.equal("interrupted", manifest.status)
      assert.is_nil(fs.stat("/proc/" .. assert(fs.read(other))))
    end)

    it("are kept, or done again, as others are", function()
      use_five { [2] = { restore = function(ctx) ctx.state.x = { 3 } end } }
      run()
      assert.same({ "kept t", "kept x", "kept y", "kept a", "kept last" }, (run(true)))
      assert(fs.remove(top() .. "/run/y.txt"))
      assert.same({ "kept t", "kept x", "kept a", "kept last", "begin y", "done y" }, (run(true)))
      assert(fs.remove(top() .. "/run/x.txt"))
      assert.same({ "kept t", "kept y", "kept a", "begin last", "begin x", "done x", "done last" },
        (run(true)))
    end)
  end)

  describe("resuming", function()
    local restored

    -- Three steps; b reads what `state` gives. Fields by place go over these.
    local function use_three(fields)
      restored = {}
      local steps = { { name = "a", makes = { "a.txt" } },
        { name = "state", makes = { "state.txt" }, gives = { n = "a number" },
          restore = function(ctx)
            restored[#restored + 1] = "state"
            ctx.state.n = 1
          end },
        { name = "b", requires = { "a" }, reads = { "n" }, needs = { "a.txt" },
          makes = { "b.txt" } } }
      for i, more in pairs(fields or {}) do
        for key, value in pairs(more) do steps[i][key] = value end
      end
      use(steps)
    end

    it("keeps steps whose files are there, and restores what nobody reads not", function()
      use_three()
      run()
      assert.same({ "kept a", "kept state", "kept b" }, (run(true)))
      assert.same({}, restored)
    end)

    it("runs everything when not asked to resume", function()
      use_three()
      run()
      assert(fs.remove_tree(top() .. "/run"))
      assert.same({ "begin a", "done a", "begin state", "done state", "begin b", "done b" },
        (run()))
    end)

    it("runs a step again whose file is gone, and those behind it", function()
      use_three()
      run()
      assert(fs.remove(top() .. "/run/a.txt"))
      assert.same({ "begin a", "done a", "kept state", "begin b", "done b" }, (run(true)))
      assert.same({ "state" }, restored)
    end)

    it("runs a step again whose field was found out anew", function()
      use_three()
      run()
      assert(fs.remove(top() .. "/run/state.txt"))
      assert.same({ "kept a", "begin state", "done state", "begin b", "done b" }, (run(true)))
      assert.same({}, restored)
    end)

    it("runs a step again when what it reads is newer", function()
      use_three()
      run()
      write_later("a.txt", "changed")
      assert.same({ "kept a", "kept state", "begin b", "done b" }, (run(true)))
    end)

    it("runs a step again that is stale or failed before", function()
      use_three { { stale = function() return true end } }
      run()
      assert.same({ "begin a", "done a", "kept state", "begin b", "done b" }, (run(true)))
      use_three { [3] = { run = failing("failed", "no") } }
      assert(fs.remove_tree(top() .. "/run"))
      run()
      use_three()
      assert.same({ "kept a", "kept state", "begin b", "done b" }, (run(true)))
    end)

    it("takes nothing from an earlier attempt", function()
      use_three { [3] = { makes = { "b.txt" } } }
      run()
      use_three { [3] = { stale = function() return true end, run = failing("failed", "no") } }
      run(true)
      assert.is_nil(fs.stat(top() .. "/run/b.txt"))
    end)

    it("lets the step fail for which nothing could be restored", function()
      use_three()
      run()
      assert(fs.remove(top() .. "/run/b.txt"))
      use_three { [2] = { restore = failing("failed", "broken") } }
      local said, _, err = run(true)
      assert.same({ "kept a", "kept state", "begin b", "failed b" }, said)
      assert.equal("broken", err.message)
    end)
  end)
end)


describe("the steps of a run", function()
  local steps = pipeline.load()

  it("read what others give", function()
    assert.is_table(dataflow.givers(steps, { missing = true }))
  end)

  it("say what they make, and can restore what they give", function()
    for _, step in ipairs(steps) do
      assert.is_true(#step.makes > 0, step.name)
      assert.is_function(step.run, step.name)
      if step.gives then assert.is_function(step.restore, step.name) end
      for _, meaning in pairs(step.gives or {}) do assert.is_string(meaning) end
    end
  end)
end)
