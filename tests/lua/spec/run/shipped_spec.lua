-- The captures of models that come with llmprof: each makes a whole bundle, with the
-- same files for every model.
local fs = require "llmprof.fs"
local live = require "tests.lua.support.live"

-- A server's capture has neither counters nor operators.
local folders = { "deepseek_ocr", "alt_llm" }

-- Of the plain run behind the timeline, which overhead=measure makes, not every capture.
local PLAIN = "^workload/after/"


describe("a recorded capture that ships", function()
  after_each(live.clean)

  -- The bundle's folder of a recipe on the capture of its name.
  local function analyse(name)
    local out = live.folder() .. "/out"
    local run = live.llmprof { ("recipes/%s.lua"):format(name), "capture=recorded", "out=" .. out }
    assert.equal(0, run.code, run.output)
    return out
  end

  local function files_in(dir, prefix, list)
    for _, name in ipairs(assert(fs.list(dir))) do
      local path = dir .. "/" .. name
      if assert(fs.stat(path)).type == "directory" then
        files_in(path, prefix .. name .. "/", list)
      elseif not (prefix .. name):find(PLAIN) then
        list[#list + 1] = prefix .. name
      end
    end
    table.sort(list)
    return list
  end

  it("leaves the same files whichever model it is of", function()
    local first = files_in(analyse(folders[1]), "", {})
    for i = 2, #folders do assert.same(first, files_in(analyse(folders[i]), "", {})) end
    assert.is_true(#first > 20)
  end)
end)
