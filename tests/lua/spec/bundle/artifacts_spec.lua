local artifacts = require "llmprof.bundle.artifacts"
local bundle = require "tests.lua.support.bundle"
local defaults = require "llmprof.recipe.defaults"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local version = require "llmprof.version"

describe("llmprof.bundle.artifacts", function()
  local top = bundle.scratch(before_each, after_each)

  local function create(fields)
    local given = { root = top() .. "/runs", recipe = "r", recipe_file = "r.lua",
      command = json.list { "llmprof", "r.lua" } }
    for key, value in pairs(fields or {}) do given[key] = value end
    return artifacts.create(given)
  end

  local function open(name) return artifacts.open(name, top() .. "/runs") end

  -- Message and hint with the temporary folder called TOP.
  local function refusal(...)
    local said, plain = failure(...), top():gsub("%p", "%%%0")
    for i, text in pairs(said) do said[i] = text:gsub(plain, "TOP") end
    return said
  end

  it("keeps runs where git does not look, unless it is told where", function()
    local folder = defaults["run.root"][2]:match "^[^/]+"
    local rules = "\n" .. assert(fs.read ".gitignore")
    assert.is_truthy(rules:find(("\n/%s/\n"):format(folder), 1, true), folder)
  end)

  describe("create", function()
    it("names a run by time and recipe", function()
      local first, second = create(), create()
      assert.matches("^%d%d%d%d%d%d%d%d%-%d%d%d%d%d%d%-r$", first.id)
      assert.not_equal(first.id, second.id)
      assert.equal(("%s/runs/%s"):format(top(), first.id), first.dir)
    end)

    it("makes folders and a manifest", function()
      local run = create { id = "x" }
      assert.same({ "manifest.json", "ncu", "nsys", "ranks", "workload" }, fs.list(run.dir))
      local manifest = assert(json.load(run:path "manifest.json"))
      assert.matches("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$", manifest.started)
      manifest.started = nil
      assert.same({ schema_version = 1, llmprof = version.version, run_id = "x", recipe = "r",
        recipe_file = "r.lua", command = { "llmprof", "r.lua" }, status = "running", steps = {} },
        manifest)
    end)

    it("refuses a run id that is taken", function()
      create { id = "x" }
      assert.same({ "usage", "run id 'x' is taken: TOP/runs/x exists",
        "choose another run.id, or continue it: --resume x" }, refusal(create, { id = "x" }))
    end)

    it("refuses a folder that is not empty", function()
      assert(fs.write(top() .. "/file", ""))
      assert.same({ "usage", "out=TOP: the folder is not empty",
        "choose another" }, refusal(create, { out = top() }))
      create { out = top() .. "/run" }
      assert.same({ "usage", "out=TOP/run: the folder is not empty",
        "choose another, or continue it with --resume TOP/run" },
        refusal(create, { out = top() .. "/run" }))
    end)

    it("takes a folder's name for the id", function()
      local run = create { out = top() .. "/a/b/" }
      assert.same({ "b", top() .. "/a/b/" }, { run.id, run.dir })
      assert.equal("y", create({ out = top() .. "/c", id = "y" }).id)
    end)

    it("says when it cannot write", function()
      assert(fs.write(top() .. "/file", ""))
      local said = refusal(create, { root = top() .. "/file/runs" })
      assert.equal("failed", said[1])
      assert.matches("^TOP/file/runs: ", said[2])
      assert.equal("choose another folder with out=DIR, or free some space", said[3])
      assert.same(said, refusal(create, { out = top() .. "/file/runs" }))
    end)
  end)

  describe("open", function()
    it("finds a run by id, folder and latest", function()
      local run = create { id = "x" }
      run:publish()
      for _, name in ipairs { "x", run.dir, "latest", top() .. "/runs/latest" } do
        local found = open(name)
        assert.same({ "x", run.dir, top() .. "/runs" }, { found.id, found.dir, found.root })
      end
      assert.equal("x", fs.readlink(top() .. "/runs/latest"))
    end)

    it("says how to continue it, and repeats no command of a manifest", function()
      local run = create { id = "x", command = { "llmprof", "r.lua", "a.b=1 2" } }
      assert.equal("continue it: llmprof r.lua 'a.b=1 2' --resume x", run:continuation())
      assert.equal(("continue it with the command in %s/manifest.json and --resume x")
        :format(run.dir), open("x"):continuation())
      local elsewhere = create { out = top() .. "/elsewhere" }
      assert.equal(("continue it with the command in %s/manifest.json and --resume %s")
        :format(elsewhere.dir, elsewhere.dir), open(elsewhere.dir):continuation())
    end)

    it("takes the folder's name for the id, whatever the manifest says", function()
      local dir = create({ id = "x" }).dir
      assert(fs.write(dir .. "/manifest.json", [[{ "run_id": "../../etc", "started": "",
        "status": "done", "steps": [] }]]))
      assert.equal("x", open("x").id)
      local moved = top() .. "/moved"
      assert(fs.rename(dir, moved))
      assert.equal("TOP/moved/manifest.json: run_id: '../../etc' cannot name a run",
        refusal(open, moved)[2])
    end)

    it("keeps latest to the runs of its root", function()
      local run = open(create({ out = top() .. "/elsewhere" }).dir)
      assert.same({ "elsewhere", top() .. "/elsewhere" }, { run.id, run.dir })
      run:publish()
      assert.is_nil(fs.lstat(top() .. "/runs/latest"))
    end)

    it("says what is not there or broken", function()
      assert.same({ "usage", "no run 'x' in TOP/runs", "llmprof ls lists the runs" },
        refusal(open, "x"))
      local run = create { id = "x" }
      run:write("manifest.json", "{")
      assert.matches("^TOP/runs/x/manifest.json:1:2: ", refusal(open, "x")[2])
    end)

    it("says what in a manifest cannot be", function()
      local run = create { id = "x" }
      local manifest = [[{ "run_id": "x", "started": "", "status": "done", "steps": %s }]]
      for text, complaint in pairs {
        ["7"] = "$: object expected, got 7", ["{}"] = "$: no 'run_id'",
        ['{ "run_id": 1 }'] = "$.run_id: string expected, got 1",
        ['{ "run_id": "x", "status": null }'] = "$.status: string expected, got null",
        [manifest:format "{}"] = "$.steps: array expected, got {}",
        [manifest:format "[7]"] = "$.steps[1]: object expected, got 7",
        [manifest:format '[{ "status": "done" }]'] = "$.steps[1]: no 'name'",
        [manifest:format '[{ "name": 0.5 }]'] = "$.steps[1].name: string expected, got 0.5",
        [manifest:format '[{ "name": "plan", "outputs": "a" }]'] =
          '$.steps[1].outputs: array expected, got "a"',
      } do
        run:write("manifest.json", text)
        assert.same({ "failed", "TOP/runs/x/manifest.json: " .. complaint,
          "if it is no run, remove or rename the folder" }, refusal(open, "x"))
      end
    end)
  end)

  it("lists runs by start, broken ones first, without latest", function()
    for _, entry in ipairs { { "a", "2026-01-02" }, { "b", "2026-01-01" }, { "c", "" } } do
      local run = create { id = entry[1] }
      run.manifest.started = entry[2]
      run:save()
    end
    create({ id = "d" }):publish()
    assert(fs.write(top() .. "/runs/d/manifest.json", "{"))
    assert(fs.mkdir(top() .. "/runs/other"))
    local names = {}
    for i, run in ipairs(artifacts.list(top() .. "/runs")) do
      names[i] = run.id .. (run.message and " broken" or "")
    end
    assert.same({ "c", "d broken", "b", "a" }, names)
    assert.same({}, artifacts.list(top() .. "/none"))
  end)

  describe("a run", function()
    it("writes files whole or not at all", function()
      local run = create { id = "x" }
      run:write("a.txt", "old")
      assert.is_true(run:has "a.txt")
      local said = refusal(run.write, run, "no/such/folder.txt", "x")
      assert.equal("failed", said[1])
      assert.matches("^TOP/runs/x/no/such/folder.txt: ", said[2])
      assert.same({ false, "docs/baseline.schema.json does not allow $: no 'saved'" },
        { pcall(run.write_document, run, "a.txt", "baseline", { run = "x" }) })
      assert.equal("old", fs.read(run:path "a.txt"))
      assert.same({ "a.txt", "manifest.json", "ncu", "nsys", "ranks", "workload" },
        fs.list(run.dir))
    end)

    it("lists its files and their sizes", function()
      local run = create { id = "x" }
      run:write("nsys/b.txt", "12345")
      run:write("a.txt", "1")
      assert.same({ { name = "a.txt", bytes = 1 },
        { name = "manifest.json", bytes = fs.stat(run:path "manifest.json").size },
        { name = "nsys/b.txt", bytes = 5 } }, artifacts.files(run.dir))
      assert.same({ { file = "nsys/b.txt", bytes = 5 } }, run:sizes { "nsys/b.txt", "none" })
      assert.is_false(run:has "nsys")
    end)

    it("keeps one entry per step, and the end", function()
      local run = create { id = "x" }
      run:record { name = "plan", status = "failed" }
      run:record { name = "tools", status = "done" }
      run:record { name = "plan", status = "done" }
      run:finish("failed", "why")
      local manifest = assert(json.load(run:path "manifest.json"))
      assert.same({ { name = "plan", status = "done" }, { name = "tools", status = "done" } },
        manifest.steps)
      assert.same({ "failed", "why" }, { manifest.status, manifest.message })
      assert.is_string(manifest.ended)
      assert.equal("done", run:recorded "tools".status)
      assert.is_nil(run:recorded "render")
    end)
  end)
end)
