-- What a recipe's own functions are given, and what becomes of their answers.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local json = require "llmprof.json"

describe("recipe hooks", function()
  local top = bundle.scratch(before_each, after_each)

  -- Run a recipe with these hooks; what they put into `seen` comes back.
  local function run(hooks, words)
    local seen = {}
    package.loaded["tests.seen"] = seen
    local ctx, failure = bundle.run_small(top(), 'stages = { "prefill", "decode" }, ' .. hooks,
      words)
    package.loaded["tests.seen"] = nil
    return ctx, failure, seen
  end

  local function results(ctx)
    return assert(json.load(ctx.run:path "results.json"))
  end

  local function status(ctx, name)
    return ctx.run:recorded(name).status
  end

  describe("select_kernels", function()
    it("chooses from the list", function()
      local ctx, failure, seen = run([[select_kernels = function(kernels, cfg)
        seen.count, seen.limit = #kernels, cfg.top_n.kernels
        return { kernels[3], kernels[1] }
      end]], { "top_n.kernels=7", "top_n.per_stage=false" })
      assert.is_nil(failure)
      local selection = results(ctx).selection
      assert.same({ count = 4, limit = 7 }, seen)
      assert.same({ 1, 3 }, selection.kernels)
      assert.same({ by = "recipe", per_stage = false }, selection.policy)
      local all = results(ctx).kernels
      assert.near(all[1].share + all[3].share, selection.coverage, 1e-12)
      assert.same({ name = "all", kernels = { 1, 3 }, of = 4, coverage = selection.coverage },
        selection.groups[1])
    end)

    it("must return kernels of the list", function()
      local _, failure = run "select_kernels = function() end"
      assert.same({ "usage", "select_kernels: a list of kernels is expected, got nil" },
        { failure.kind, failure.message })
    end)

    it("may not make kernels up", function()
      local ctx, failure = run "select_kernels = function(k) return { k[1], { id = 2 } } end"
      assert.equal("select_kernels: item 2 is no kernel of the list", failure.message)
      assert.same({ "failed", "done" }, { status(ctx, "select"), status(ctx, "render") })
    end)

    it("may choose none", function()
      local ctx, failure = run "select_kernels = function() return {} end"
      assert.is_nil(failure)
      assert.same({}, results(ctx).selection.kernels)
      assert.is_nil(results(ctx).selection.filter)
    end)
  end)

  describe("advise", function()
    it("adds findings", function()
      local ctx, failure = run [[advise = function(results)
        return { { title = "T", stage = "decode", try = "X", confidence = "low",
          evidence = { { text = results.stages[2].name .. " is there", source = "timeline" } } } }
      end]]
      assert.is_nil(failure)
      local findings = results(ctx).advice.findings
      assert.same({ rule = "recipe", title = "T", stage = "decode", try = "X", confidence = "low",
        evidence = { { text = "decode is there", source = "timeline" } } }, findings[#findings])
    end)

    it("may find nothing", function()
      local _, failure = run "advise = function() end"
      assert.is_nil(failure)
    end)

    it("costs the exit status, not the reports, when it is broken", function()
      local where = top() .. "/small.lua:3: "
      for hook, message in pairs {
        ["function() error('no', 0) end"] = "advise: no",
        ["function(r) return r.none.x end"] =
          "advise: " .. where .. "attempt to index a nil value (field 'none')",
        ["function() return 5 end"] =
          where .. "advise: a list of findings is expected, got number",
        ["function() return { { title = 'T' } } end"] =
          where .. "advice rule 'recipe': no 'evidence'",
      } do
        local ctx, failure = run("advise = " .. hook)
        assert.same({ "usage", message }, { failure.kind, failure.message })
        assert.same({ "done", "done" }, { status(ctx, "analyse"), status(ctx, "render") })
        assert.same({ message }, ctx.run:recorded "analyse".notes)
        assert(fs.remove_tree(top() .. "/run"))
      end
    end)
  end)

  describe("render", function()
    it("is given the results and the bundle's folder", function()
      local ctx, failure, seen = run [[render = function(results, out)
        seen.recipe, seen.out = results.run.recipe, out
      end]]
      assert.is_nil(failure)
      assert.same({ recipe = "small", out = ctx.run.dir }, seen)
      assert.matches("the recipe's own$", ctx.run:recorded "render".note)
    end)

    it("fails its step behind the reports", function()
      local ctx, failure = run "render = function() local x; return x.y end"
      assert.equal("usage", failure.kind)
      assert.matches("^render: .*small%.lua:3: attempt to index a nil value", failure.message)
      assert.matches("^stack traceback:", failure.detail)
      assert.equal("failed", status(ctx, "render"))
      assert.is_true(ctx.run:has "stakeholder_summary.md")
    end)
  end)

  describe("flops", function()
    it("reaches the analysis with the configuration bound", function()
      local analysis = require "llmprof.analysis"
      local real, given = analysis.results, nil
      analysis.results = function(all)
        given = all
        return real(all)
      end
      local ok, message = pcall(run, [[flops = function(stage, metrics, cfg)
        return { stage.name, metrics.batch, cfg.top_n.kernels }
      end]], { "top_n.kernels=9" })
      analysis.results = real
      assert.is_true(ok, message)
      assert.same({ "decode", 2, 9 }, given.flops({ name = "decode" }, { batch = 2 }))
    end)
  end)
end)
