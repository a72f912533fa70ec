-- Steps that are longer again and again, or a few many times: something runs beside the model.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "uneven_steps" }

-- What they take more from this share of the stage's time on.
local WORTH = 0.05

local parts = { gpu = "the GPU works longer", host = "CPU outside CUDA",
  launch = "CPU in launching calls", sync = "CPU waiting for the GPU", memory = "CPU allocating",
  other = "CPU in other CUDA calls", graph = "idle within replays of graphs" }

local tries = {
  gpu = "look at what runs only in them: other kernels, larger shapes, copies",
  host = "look at what the program does then: Python's garbage collector (gc.freeze, gc.disable "
    .. "while it decodes), logging, tokens that are sent in batches, other programs on its cores",
  memory = "reserve memory before the first step: a cache that grows is allocated and copied",
}

local FIRST_USE = "look for what happens once in a while: kernels that are compiled or loaded at "
  .. "their first use (warm up with every shape that is served), files, caches that grow"

local OTHER = "look at what the program calls then, and move it out of the loop"


local function ordinal(number)
  local ending = number // 10 % 10 ~= 1 and ({ "st", "nd", "rd" })[number % 10] or "th"
  return number .. ending
end


-- "6 of 63 steps, every 10th, are 20.00 ms longer, before the step, CPU outside CUDA"
local function title_of(slow)
  local pattern = slow.every and (", every %s,"):format(ordinal(slow.every))
    or slow.groups == 1 and ", one after the other,"
    or slow.groups and (", in %d groups,"):format(slow.groups) or ""
  local place = slow.where and (", %s the step"):format(slow.where) or ""
  return evidence.say("%N of %N steps%s are %T longer%s, %s", slow.count, slow.of, pattern,
    slow.excess_ns, place, parts[slow.part])
end


-- Those of a stage that are worth a finding, with the part of all steps' time and the ns that an
-- instance of the stage takes longer for them; nil without.
local function slow_of(stage)
  local slow = stage.slow_steps
  local all = slow and slow.usual_ns * slow.of + slow.total_ns
  if not slow or slow.total_ns < WORTH * all or not slow.part then return nil end
  local per_instance = stage.steps and stage.steps / slow.of or 1 / stage.wall.count
  return slow, slow.total_ns / all, slow.total_ns * per_instance
end


-- How long the GPU waits in an instance of the stage because of them, ns.
function rule.waiting_of(stage)
  local slow, _, ns = slow_of(stage)
  return slow and slow.part ~= "gpu" and ns or 0
end


function rule.examine_stage(_, stage, report)
  local slow, share = slow_of(stage)
  if not slow then return "no steps are longer than the others again and again" end
  if slow.part == "gpu" and stage.other_program then
    return "steps are longer by the turns of another program on the GPU"
  end
  report.finding {
    title = title_of(slow),
    evidence = {
      evidence.seen("the first of them is step %N; half of all steps take less than %T", slow.first,
        slow.usual_ns),
      evidence.seen("%P of the time of all steps are that", share),
    },
    try = not (slow.every or slow.groups) and FIRST_USE or tries[slow.part] or OTHER,
    changes = { ("even(%q)"):format(stage.name) },
    assumption = "they take as long as the others",
    confidence = slow.every and "high" or "medium",
  }
end


return rule
