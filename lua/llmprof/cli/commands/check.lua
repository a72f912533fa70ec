-- llmprof check RECIPE.lua [KEY=VALUE...]: would it run?
local errors = require "llmprof.process.errors"
local lists = require "llmprof.tables.lists"
local table_options = require "llmprof.cli.table_options"
local categories = require "llmprof.analysis.kernels.categories"
local chapters = require "llmprof.report.chapters"
local models = require "llmprof.model"
local config = require "llmprof.recipe.config"
local start = require "llmprof.run.start"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local hardware = require "llmprof.model.hardware"
local recipe = require "llmprof.recipe"
local plan = require "llmprof.run.steps.plan"
local recorded = require "llmprof.run.capture.recorded"
local spawn = require "llmprof.spawn"
local vendors = require "llmprof.nvidia.vendors"
local workload = require "llmprof.run.workload"

local command = {
  name = "check",
  usage = "check [OPTION...] RECIPE.lua [KEY=VALUE...]",
  details = [[
Looks at the recipe, its configuration and presets, the program and its files, the
stages and the model's description. Exit status 2 when there is a problem.]],
  options = {
    { "config", arg = "FILE.yaml", help = "take values from a file" },
    table_options.format, table_options.json,
  },
  completes = "recipe",
}


local ok, warn, problem = table_options.ok, table_options.warning, table_options.problem

local HOOKS = { "select_kernels", "flops", "advise", "render" }

-- How source files and what they compile to are told apart.
local SOURCES = { ".cu", ".cpp", ".c" }
local SCRIPTS = { py = true, lua = true, sh = true, js = true }


-- ---- the recipe ----

local function check_recipe(state)
  state.made = recipe.load(state.name)
  local hooks = lists.filtered(HOOKS, function(name) return state.made[name] end)
  return ok("recipe", ("%s: %s%s"):format(state.made.name,
    #hooks > 0 and "hooks " .. table.concat(hooks, ", ") or "no hooks",
    state.made.note and "; " .. state.made.note or ""))
end


-- One check, or a list of what is wrong, each said by itself.
local function problems_of(name, errs)
  return lists.map(errs, function(err) return problem(name, err.message, err.hint) end)
end


local function check_configuration(state)
  local wrong = {}
  if not state.made then -- its options are unknown: llmprof's own, and what looks like a slip
    config.compose { words = lists.filtered(state.words, config.is_own), problems = wrong }
    return problems_of("config", wrong)
  end
  local composed = config.of_recipe(state.made, state.file, state.words, wrong)
  state.cfg = composed.tree
  if #wrong > 0 then return problems_of("config", wrong) end
  chapters.layout(state.cfg.report, state.made.sections)
  recorded.check(state.made, composed)
  local said = lists.map(vendors, function(vendor)
    return ("%s=%s, "):format(vendor.name, state.cfg[vendor.name].preset)
  end)
  return ok("config", ("%smode %s"):format(table.concat(said), state.cfg.mode))
end


local function check_stages(state)
  local names = lists.map(state.made.stages, "name")
  if #names == 0 then
    return warn("stages", "none: the whole run is one stage",
      "name the NVTX ranges of the program: stages = { { \"prefill\" }, { \"decode\" } }")
  end
  local list = lists.map(plan.doubts(state.made.stages, state.cfg), function(doubt)
    return warn("stages", doubt.text, doubt.fix)
  end)
  return #list > 0 and list or ok("stages", table.concat(names, ", "))
end


-- ---- the workload ----

-- Where a relative path of the workload's leads.
local function placed(path, cwd)
  return cwd and path:sub(1, 1) ~= "/" and cwd .. "/" .. path or path
end


local function check_program(name, path, from_path)
  if from_path or fs.access(path, "x") then return nil end
  if not name:find "/" then
    return problem("workload", ("no program '%s' on PATH"):format(name),
      "install it, or name it by its path")
  elseif fs.stat(path) then
    return problem("workload", path .. ": not executable", "chmod +x, or name its interpreter")
  end
  local suffix = lists.filtered(SOURCES, function(one) return fs.stat(path .. one) end)[1]
  if suffix then
    return warn("workload", ("%s is not compiled yet"):format(path),
      ("%s %s -o %s"):format(suffix == ".cu" and "nvcc -O2" or "cc -O2", path .. suffix, path))
  end
  return problem("workload", path .. ": no such program", "build it, or correct the path")
end


-- Words that cannot be anything but files that the workload reads.
local function check_file(word, cwd)
  local suffix = word:match "^[^-].*%.(%w+)$"
  local is_script = suffix and SCRIPTS[suffix]
  local is_path = word:find "^%.?%.?/" ~= nil
  if not is_script and not is_path then return nil end
  if fs.stat(placed(word, cwd)) or files.built_in(word) then return nil end
  if is_script then
    return problem("workload", word .. ": no such file", "write it, or correct the path")
  end
  return warn("workload", word .. " is not there", "does the program make it?")
end


local function check_workload(state)
  local spec = workload.describe(state.made, state.cfg)
  local list = {}
  if spec.cwd and not files.is_folder(spec.cwd) then
    list[1] = problem("workload", ("cwd: %s: no such folder"):format(spec.cwd), "correct the path")
  end
  local program, found = spec.argv[1], nil
  if not program:find "/" then found = spawn.which(program) end
  if not spec.source then
    list[#list + 1] = check_program(program, placed(program, spec.cwd), found)
  elseif not workload.program_state(spec.source) then
    list[#list + 1] = problem("workload", workload.no_compiler(spec.source),
      workload.COMPILER_HINT)
  elseif workload.program_state(spec.source) == "source" then -- compiled when first needed
    list[#list + 1] = warn("workload", spec.source .. " is not compiled yet",
      "a run compiles it, with nvcc")
  end
  for i = 2, #spec.argv do list[#list + 1] = check_file(spec.argv[i], spec.cwd) end
  return #list > 0 and list or ok("workload", ("%s with %d argument%s"):format(
    found or program, #spec.argv - 1, #spec.argv == 2 and "" or "s"))
end


-- In order; the others need a configuration.
local every = {
  { "recipe", check_recipe }, { "config", check_configuration },
  { "stages", check_stages },
  { "categories", function(state)
    categories.classifier(state.made.categories)
    local count = #(state.made.categories or {})
    return count > 0 and ok("categories", ("%d rule%s of its own"):format(count,
      count == 1 and "" or "s")) or nil
  end },
  { "workload", check_workload },
  { "capture", function(state)
    start.would_run(state.made, state.cfg)
    return ok("capture", "capture=" .. state.cfg.capture)
  end },
  { "model", function(state)
    local arch = models.description { cfg = state.cfg.model }
    if arch or state.made.flops then
      return ok("model", arch and arch.source or "the recipe's flops()")
    end
    return warn("model", "no description: no MFU and MBU, unless the workload says what it runs",
      "model.config=config.json, or model.arch=NAME of conf/model")
  end },
  { "hardware", function(state)
    local name = state.cfg.hardware.name
    return name and hardware.load(name) and ok("hardware", name) or nil
  end },
}


-- Look at a recipe: its file, a file of values or nil, settings as words. The workload is not
-- started, no tool is looked for and nothing is written. A list of llmprof.cli.table_options: what
-- the user can mend; other errors pass.
function command.examine(name, file, words)
  local state, list, listed = { name = name, file = file, words = words }, {}, {}
  for _, entry in ipairs(every) do
    local done, found = errors.call(entry[2], state)
    if not done then
      if found.kind ~= "usage" and found.kind ~= "tool" then error(found, 0) end
      found = problems_of(entry[1], errors.each(found))
    end
    for _, result in ipairs(found and (found.name and { found } or found) or {}) do
      -- several checks call the workload function, which may refuse
      local said = result.level .. result.text
      if not listed[said] then listed[said], list[#list + 1] = true, result end
    end
    if entry[1] == "config" and not state.cfg then break end
  end
  return list
end


function command.run(given, words)
  if #words == 0 then
    errors.raise("usage", "which recipe?", { hint = "llmprof check recipes/toy_llm.lua" })
  end
  local list = command.examine(words[1], given.config, table.move(words, 2, #words, 1, {}))
  table_options.print_checks(list, given)
  return table_options.has_problem(list) and errors.status.usage or 0
end


return command
