local bundle = require "tests.lua.support.bundle"
local config = require "llmprof.recipe.config"
local failure = require "tests.lua.support.failure"
local fs = require "llmprof.fs"

local options = { ["model.path"] = { "A folder", "" }, ["infer.tokens"] = { "Tokens", 4 } }

local function compose(words, file)
  return config.compose { options = options, recipe_name = "r.lua", file = file,
    words = words or {} }
end


describe("llmprof.recipe.foreign", function()
  local top = bundle.scratch(before_each, after_each)

  local same = {
    ["run.mode=deep"] = { "mode", "deep" },
    ["run.top_n_kernels=7"] = { "top_n.kernels", 7 },
    ["artifacts.stage2_dir=/x"] = { "run.root", "/x" },
    ["pipeline.nsys.sample=process-tree"] = { "nsys.sample", "process-tree" },
    ["pipeline.ncu.budget_s=9"] = { "ncu.budget_s", 9 },
    ["pipeline.nsys.enable=false"] = { "timeline", "off" },
    ["pipeline.ncu.enable=true"] = { "counters.by", "on" },
    ["nsys=off"] = { "timeline", "off" },
    ["ncu=off"] = { "counters.by", "off" },
  }
  for word, expected in pairs(same) do
    it("takes " .. word .. " as that key, with a plus, too", function()
      for _, given in ipairs { word, "+" .. word } do
        local key, value = table.unpack(expected)
        local composed = compose { given }
        assert.equal(value, composed.values[key])
        assert.equal("command line", composed.origins[key])
      end
    end)
  end

  it("lets a mode of that name choose presets", function()
    assert.equal("deep", compose { "+run.mode=deep" }.values["ncu.preset"])
    assert.equal("default", compose { "mode=default" }.values["ncu.preset"])
  end)

  it("takes the same words from a file", function()
    assert(fs.write(top() .. "/c.yaml", "run: { mode: light, top_n_kernels: 3 }\n"
      .. "pipeline: { nsys: { wait: all, enable: off }, ncu: { extra_args: [a, b] } }\n"
      .. "nsys.sample: none\n"))
    local values = compose({}, top() .. "/c.yaml").values
    assert.same({ "light", 3, "all", "off", { "a", "b" }, "none" }, { values["mode"],
      values["top_n.kernels"], values["nsys.wait"], values["timeline"], values["ncu.extra_args"],
      values["nsys.sample"] })
  end)

  it("takes a model's target where the recipe has presets of models", function()
    local declared = { ["model.preset"] = { "A model", "a", choices = { "a", "b" } } }
    local composed = config.compose { options = declared, recipe_name = "r.lua",
      words = { "+model.target=b" } }
    assert.equal("b", composed.values["model.preset"])
  end)

  it("names what replaces a word that has no key", function()
    assert.same({ "usage", "'model.target' is not a key here", "choose the model with model.arch, "
      .. "model.config, model.path or the recipe's model.preset" },
      failure(compose, { "+model.target=alt" }))
    assert.same({ "usage", "'repeats' is not a key here", "infer.repeats is how often the workload "
      .. "runs, repeats.skip_first which of them count" }, failure(compose, { "repeats=1" }))
    assert.same({ "usage", "'dataset/sampling@dataset.sampling=default' is no setting",
      "a preset is chosen by its group, nsys=light; the keys of a dataset are set one by one" },
      failure(compose, { "dataset/sampling@dataset.sampling=default" }))
    assert.same({ "usage", "pipeline.ncu.enable: 'perhaps' is not true or false" },
      failure(compose, { "pipeline.ncu.enable=perhaps" }))
  end)

  it("leaves a name to the recipe that declares it", function()
    local composed = config.compose { recipe_name = "r.lua",
      options = { ["run.mode"] = { "Own", "x" } },
      words = { "run.mode=deep" } }
    assert.same({ "deep", "default" }, { composed.values["run.mode"], composed.values["mode"] })
  end)
end)


describe("a key that may be without a value", function()
  local words = { "", "null", "''", '""' }

  for _, word in ipairs(words) do
    it(("is without one as '%s'"):format(word), function()
      local composed = compose { "nsys.capture_range_end=" .. word, "nsys.nvtx_capture=" .. word,
        "nsys.cuda_memory_usage=" .. word, "nsys.extra_args=" .. word, "model.path=" .. word }
      for _, key in ipairs { "nsys.capture_range_end", "nsys.nvtx_capture",
        "nsys.cuda_memory_usage", "nsys.extra_args" } do
        assert.is_nil(composed.values[key])
      end
      assert.equal("", composed.values["model.path"])
    end)

    it(("is without one in a file as '%s'"):format(word), function()
      local file = os.tmpname()
      assert(fs.write(file, ("nsys: { capture_range_end: %s }\nmodel: { path: %s }\n")
        :format(word, word)))
      local composed = compose({}, file)
      os.remove(file)
      assert.same({ "", file }, { composed.values["model.path"], composed.origins["model.path"] })
      assert.is_nil(composed.values["nsys.capture_range_end"])
    end)
  end

  it("is another thing than a key that needs one", function()
    assert.same({ "usage", "command line: infer.tokens: an empty value",
      "~infer.tokens removes a value" }, failure(compose, { "infer.tokens=" }))
  end)
end)
