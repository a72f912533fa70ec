-- A user's own settings, for every run and every command.
local bundle = require "tests.lua.support.bundle"
local child = require "tests.lua.support.child"
local fs = require "llmprof.fs"


describe("a user's settings", function()
  local top = bundle.scratch(before_each, after_each)
  local llmprof = child.caller(top, function()
    return { env = { XDG_CONFIG_HOME = top() .. "/config" } }
  end)

  local function file(contents)
    assert(fs.mkdirs(top() .. "/config/llmprof"))
    local path = top() .. "/config/llmprof/config.yaml"
    assert(fs.write(path, contents))
    return path
  end

  -- The line of --print-config about a key, without the blanks between.
  local function printed(key, ...)
    local code, out, err = llmprof("deepseek_ocr", "--print-config", ...)
    assert.same({ 0, "" }, { code, err })
    return (("\n" .. out):match("\n *(" .. key .. ": [^\n]*)"):gsub(" +#", " #"))
  end

  it("are above the presets and below recipe and command line", function()
    local path = file "nsys:\n  sample: system-wide\ncapture: nsys\ncollector.samples_hz: 3\n"
    assert.equal("sample: system-wide # " .. path, printed "sample")
    assert.equal("capture: nsys # " .. path, printed "capture")
    assert.equal("sample: none # command line", printed("sample", "nsys.sample=none"))
    assert.matches("# recipes/deepseek_ocr.lua$", printed "samples_hz")
  end)

  it("choose presets and a mode", function()
    local path = file "mode: light\n"
    assert.equal("mode: light # " .. path, printed "mode")
    assert.equal("kernels: 10 # conf/mode/light.yaml", printed "kernels")
    assert.matches("^mode: default", printed("mode", "~mode"))
  end)

  it("say where runs are kept, to every command", function()
    file("run:\n  root: " .. top() .. "/kept\n")
    assert.equal(0, (llmprof("deepseek_ocr", "capture=recorded", "run.id=one", "-q")))
    assert.is_not_nil(fs.stat(top() .. "/kept/one/report.md"))
    local code, out = llmprof "ls"
    assert.equal(0, code)
    assert.matches("\none +deepseek_ocr", out)
    assert.matches("where runs are kept %(" .. top():gsub("%p", "%%%0") .. "/kept%)",
      (select(2, llmprof("show", "--help"))))
    assert.equal(0, (llmprof("show", "latest")))
  end)

  it("are keys of llmprof's own, and YAML", function()
    local path = file "infer.max_new_tokens: 3\n"
    local code, _, err = llmprof("deepseek_ocr", "--dry-run")
    assert.equal(2, code)
    assert.equal(1, (err:find("llmprof: " .. path .. ": no key 'infer.max_new_tokens'", 1, true)))
    assert.matches("\n  a recipe's keys go on the command line", err)
    for _, broken in ipairs { "run: [", "- a\n", "run: {rot: x}\n", "run.root: []\n" } do
      file(broken)
      assert.equal(2, (llmprof "ls"), broken)
    end
    file ""
    assert.equal("mode: default # default", printed "mode")
  end)
end)
