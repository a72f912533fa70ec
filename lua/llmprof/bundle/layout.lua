-- Where everything lies in the folder of a run. No other module knows: lint.layout
-- finds those that do. Names are of files below the folder; docs/bundle.md says
-- what they hold.
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local lists = require "llmprof.tables.lists"

local layout = {
  manifest = "manifest.json",
  config = "config.yaml",
  inputs = "inputs.yaml",
  environment = "env.json",
  timeline = "nsys/run.sqlite",
  gpu_samples = "nsys/gpu_samples.json",
  selection = "ncu/selection.json",
  counters = "ncu/raw.csv",
  results = "results.json",
  events = "events.gz",
  perfetto = "perfetto.json.gz",
}

-- What is rendered from the results for people, and the same as a list, best first.
layout.reports = { page = "report.html", full = "report.md", summary = "stakeholder_summary.md",
  kernels = "kernels.md", operators = "operators.md" }
layout.best_reports = { layout.reports.page, layout.reports.full, layout.reports.summary,
  layout.reports.kernels, layout.reports.operators }

-- Of each tool: its folder, and there what it was called with, what it printed and
-- the stem of its report's name.
layout.nsys = { folder = "nsys", command = "nsys/cmd.txt", log = "nsys/log.txt",
  stem = "nsys/run" }
layout.ncu = { folder = "ncu", command = "ncu/cmd.txt", log = "ncu/log.txt", stem = "ncu/run",
  report = "ncu/run.ncu-rep", details = "ncu/details.csv", sections = "ncu/sections.txt",
  workload = "ncu/workload" }

layout.collector = { folder = "collector", command = "collector/cmd.txt",
  log = "collector/log.txt", plan = "collector/plan.txt", spool = "collector/run.spool" }

-- What the workload wrote: under the timeline's tool, in its runs without any
-- profiler, and in the operators pass.
layout.workload = { folder = "workload", metrics = "workload/metrics.json",
  operators = "workload/operators.json", server_log = "workload/server.log",
  log_found = "workload/found.log",
  before = "workload/before", after = "workload/after", operators_pass = "workload/operators" }

-- Ranks: what was found out of them, and what is kept of each one's file.
layout.ranks = { folder = "ranks", record = "ranks/ranks.json" }

-- Collapsed stacks of samplers beside the profiler, in a recorded capture as well: a file
-- for each stage, "whole run.folded" for all of them.
layout.stacks = "stacks"

-- Folders of a bundle, there even when they stay empty.
layout.folders = { layout.nsys.folder, layout.ncu.folder, layout.workload.folder,
  layout.ranks.folder }


-- ---- names that are made ----

-- NVIDIA's summary of a name, as CSV.
function layout.summary(name) return ("nsys/summary_%s.csv"):format(name) end

-- The report of a timeline's tool: numbered when there are several. suffix: ".nsys-rep".
function layout.report(number, count, suffix)
  return count == 1 and layout.nsys.stem .. suffix
    or ("%s.%d%s"):format(layout.nsys.stem, number, suffix)
end

-- What a workload writes into one of its folders.
function layout.metrics_in(folder) return folder .. "/metrics.json" end
function layout.operators_in(folder) return folder .. "/operators.json" end
function layout.log_in(folder) return folder .. "/log.txt" end

-- Of a rank that was captured by itself: the report, and the export.
function layout.rank_report(number) return ("nsys/rank%s.nsys-rep"):format(number) end
function layout.rank_export(number) return ("nsys/rank%s.sqlite"):format(number) end

-- What is kept of a rank's file.
function layout.rank_part(name) return ("%s/%s.part"):format(layout.ranks.folder, name) end

-- A file that is written out for the workload, of the program's own.
function layout.program(name) return ("%s/%s"):format(layout.workload.folder, name) end

-- The collapsed stacks of a stage, and the stage that a file is of.
function layout.stacks_of(stage) return ("%s/%s.folded"):format(layout.stacks, stage) end
function layout.stage_of_stacks(name) return name:match "([^/]+)%.folded$" end

-- Files of collapsed stacks below a folder, sorted.
function layout.stacks_in(folder)
  return lists.sort(lists.map(fs.list(folder .. "/" .. layout.stacks) or {}, function(name)
    return layout.stage_of_stacks(name) and layout.stacks .. "/" .. name or nil
  end))
end


-- Names that files had in the layout that this one replaces, by those they have.
layout.replaces = {
  [layout.summary "cuda_gpu_kern_sum"] = "nsys/summary.csv",
  [layout.report(1, 1, ".nsys-rep")] = "nsys/run.qdrep",
  [layout.ncu.report] = "ncu/decode.ncu-rep",
  [layout.counters] = "ncu/decode_raw.csv",
  [layout.workload.operators] = "tmp/workload/torch_profiler/",
}


-- ---- what a stranger's folder may not have ----

-- Every name that is read or written below the folder of a run, as far as it is known
-- without looking.
local function known_names()
  local names = lists.joined({ layout.manifest, layout.config, layout.inputs, layout.environment,
    layout.timeline, layout.gpu_samples, layout.selection, layout.counters, layout.results,
    layout.events, layout.perfetto, layout.stacks }, layout.best_reports)
  for _, tool in ipairs { layout.nsys, layout.ncu, layout.collector, layout.ranks } do
    for _, name in pairs(tool) do names[#names + 1] = name end
  end
  for _, place in pairs(layout.workload) do
    names[#names + 1] = place
    for _, name_in in ipairs { layout.metrics_in, layout.operators_in, layout.log_in } do
      names[#names + 1] = name_in(place)
    end
  end
  return names
end


-- Names below a folder that are only known by looking: the files of ranks, and what
-- tools made, or will write over.
local function found_names(folder)
  local names = lists.filtered(files.list(folder), layout.is_rank)
  for _, inside in ipairs { layout.ranks.folder, layout.nsys.folder, layout.ncu.folder,
    layout.stacks } do
    lists.add(names, lists.map(files.list(folder .. "/" .. inside), function(name)
      return ("%s/%s"):format(inside, name)
    end))
  end
  return names
end


-- What is wrong with a folder that may be a stranger's: a name of a bundle or of a
-- recorded capture that is a symbolic link, which could lead anywhere, or cannot be looked
-- at, and its code. nil if nothing is.
function layout.astray(folder)
  -- what is in the folders of known names is looked for when these lead nowhere else
  for _, names_of in ipairs { known_names, layout.recorded_names, found_names } do
    for _, name in ipairs(names_of(folder)) do
      local path, message, code = fs.beneath(folder, name)
      if not path and code ~= "notfound" then return message, code end
    end
  end
  return nil
end


-- ---- recorded captures ----

-- Beside the files lies how, where and when they were recorded:
-- docs/capture.schema.json.
layout.ABOUT = "capture.json"

-- The files of a recorded capture: name there, its place in a bundle, the step that takes it.
layout.recorded = {
  { name = "run.sqlite", target = layout.timeline, step = "timeline" },
  { name = "metrics.json", target = layout.workload.metrics, step = "timeline" },
  { name = "before.json", target = layout.metrics_in(layout.workload.before), step = "timeline" },
  { name = "after.json", target = layout.metrics_in(layout.workload.after), step = "timeline" },
  { name = "gpu_samples.json", target = layout.gpu_samples, step = "timeline" },
  { name = "ncu/raw.csv", target = layout.counters, step = "counters" },
  { name = "operators.json", target = layout.workload.operators, step = "operators" },
}


-- Is this the file of a rank in a recorded capture of several?
function layout.is_rank(name) return name:find "^rank.*%.sqlite$" ~= nil end


-- What a file of a bundle is called in a recorded capture; nil when it is not kept.
function layout.recorded_name(target)
  local file = lists.find(layout.recorded, "target", target)
  return file and file.name
end


-- All names of a recorded capture, sorted.
function layout.recorded_names()
  return lists.sort(lists.joined({ layout.ABOUT }, lists.map(layout.recorded, "name")))
end


-- ---- finding ----

local function file_at(path) return files.is_file(path) and path or nil end


-- The path of a file of a bundle ("results", "timeline") below a folder; nil when it
-- is not there.
function layout.find(folder, what) return file_at(folder .. "/" .. layout[what]) end


local function find_either(folder, target)
  local name = layout.recorded_name(target)
  return file_at(folder .. "/" .. target) or (name and file_at(folder .. "/" .. name)) or nil
end


-- The same below a folder that may be a recorded capture as well.
function layout.find_captured(folder, what) return find_either(folder, layout[what]) end


-- The path of the framework's operators below such a folder; nil without any.
function layout.find_operators(folder) return find_either(folder, layout.workload.operators) end


return layout
