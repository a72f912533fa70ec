-- Every vendor has all that a vendor needs, here and elsewhere.
local config = require "llmprof.recipe.config"
local defaults = require "llmprof.recipe.defaults"
local fs = require "llmprof.fs"
local vendors = require "llmprof.nvidia.vendors"

local fields = { name = "string", product = "string", install = "string",
  places = "table", without = "string", files = "table", complaints = "table",
  check = "function", profile_argv = "function", reader = "function" }


describe("a vendor", function()
  it("has every field", function()
    assert.is_true(#vendors > 0)
    for _, vendor in ipairs(vendors) do
      for name, kind in pairs(fields) do
        assert.equal(kind, type(vendor[name]), ("%s.%s"):format(tostring(vendor.name), name))
      end
    end
  end)

  it("has its keys in the configuration, and a preset", function()
    for _, vendor in ipairs(vendors) do
      local name = vendor.name
      assert.is_table(defaults["tools." .. name], name)
      assert.equal("default", (defaults[name .. ".preset"] or {})[2], name)
      assert.is_table(fs.stat(("conf/%s/default.yaml"):format(name)), name)
      config.compose { words = { name .. "=default" } }
    end
  end)

  it("has a row of troubleshooting.md for each complaint", function()
    local page = assert(fs.read "docs/troubleshooting.md")
    for _, vendor in ipairs(vendors) do
      assert.is_true(#vendor.complaints > 0)
      for _, entry in ipairs(vendor.complaints) do
        local row = ("\n| %s |"):format(entry[2]:gsub("%%s", "..."))
        assert.is_truthy(page:find(row, 1, true), "no row: " .. entry[2])
        assert.is_string(entry[3])
      end
    end
  end)

  it("has its words read without any output", function()
    for _, vendor in ipairs(vendors) do assert.is_table((select(2, vendor.reader()))) end
  end)
end)
