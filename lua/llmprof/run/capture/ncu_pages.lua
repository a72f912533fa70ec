-- The pages of ncu's report, printed into the run.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local ncu = require "llmprof.nvidia.ncu.command"
local private = require "llmprof.bundle.private"
local process = require "llmprof.process.child"
local tool = require "llmprof.run.capture.tool"
local workload = require "llmprof.run.workload"

local ncu_pages = {}

local files = layout.ncu

-- Printing a page of a report that takes longer hangs, in seconds.
local PATIENCE = 600


-- One page into a file of the run; argv prints it. ncu writes numbers as the locale has them.
local function print_page(ctx, name, argv)
  local result, message = process.run(argv, { stdout = ctx.run:path(name), timeout = PATIENCE,
    env = { LC_ALL = "C" } }, ctx.tick)
  if result and result.interrupted then errors.raise("interrupted", "interrupted") end
  if not result or not result.ok then
    fs.remove(ctx.run:path(name))
    return nil, message or workload.complaint(result)
  end
  return true
end


-- The page of numbers alone.
function ncu_pages.print_raw(ctx)
  ctx.outputs[#ctx.outputs + 1] = files.report
  return print_page(ctx, layout.counters, ncu.import_argv(tool.of(ctx, ncu).path,
    ctx.run:path(files.report), "raw"))
end


-- The raw page is needed; the others are left out with a note.
function ncu_pages.print_all(ctx)
  local path, report = tool.of(ctx, ncu).path, ctx.run:path(files.report)
  local printed, why = ncu_pages.print_raw(ctx)
  if not printed then return false, "ncu could not print its report: " .. why end
  for _, page in ipairs { { files.details, ncu.import_argv(path, report, "details") },
    { files.sections, ncu.sections_argv(path, report) } } do
    printed, why = print_page(ctx, page[1], page[2])
    if printed then
      ctx.outputs[#ctx.outputs + 1] = page[1]
    else
      ctx.note(("%s is left out: %s"):format(page[1], why))
    end
  end
  return true
end


-- Nobody else may read the report, in which ncu keeps how the workload was called.
function ncu_pages.guard_report(ctx)
  if not ctx.run:has(files.report) then return end
  errors.check(fs.chmod(ctx.run:path(files.report), private.FILE_MODE))
end


return ncu_pages
