-- Sampled stacks as blocks, and as lines.
local blocks = require "llmprof.report.blocks"
local columns = require "llmprof.report.columns"
local sections = require "llmprof.report.sections"
local text = require "llmprof.text"

local stacks = {}

-- Functions of a stage in a report, and on the page; of the hottest stack; columns of a name.
local FUNCTIONS, ON_PAGE, INNERMOST, NAME = 10, 20, 24, 100

-- Of the tree on a terminal: lines, and the share of the samples that one has to have.
local LINES, SHARE = 24, 0.05


-- "leaf (work.py)"
function stacks.name(frame)
  local name = text.clean(frame.name)
  if not frame.module or frame.name == ("[%s]"):format(frame.module) then return name end
  return ("%s (%s)"):format(name, text.clean(frame.module))
end


function stacks.percent(samples, all)
  return text.number(100 * samples / all, 1) .. " %"
end


local function short(frame) return text.truncate(stacks.name(frame), NAME, "middle") end


-- ---- as lines ----

-- The functions around the one with most samples of its own, outermost first; nil where
-- no function has any.
local function hottest_path(tree)
  local path, found, most = {}, nil, 0
  for _, frame in ipairs(tree) do
    path[frame.depth + 1] = frame
    if frame.self > most then
      most, found = frame.self, table.move(path, 1, frame.depth + 1, 1, {})
    end
  end
  return found
end


-- The stack that most samples were taken in: { text, lines }; nil without.
function stacks.hottest(block)
  local path = hottest_path(block.tree)
  if not path then return nil end
  local first, lines = math.max(1, #path - INNERMOST + 1), {}
  if first > 1 then lines[1] = ("(%d more functions around these)"):format(first - 1) end
  for i = first, #path do lines[#lines + 1] = short(path[i]) end
  return { lines = lines, text = ("The stack with most samples, %s of %s (%s), the innermost "
    .. "function last:"):format(text.count(path[#path].self), text.count(block.samples),
    stacks.percent(path[#path].self, block.samples)) }
end


-- The large functions of the tree, each under the one that called it. Of such as only
-- call the next one, a line.
function stacks.tree_lines(block)
  local lines, level, before = {}, {}, nil
  for _, frame in ipairs(block.tree) do
    if frame.total >= SHARE * block.samples and #lines < LINES then
      local outer = level[frame.depth - 1] or -1
      local same = before and before.depth == frame.depth - 1 and before.total == frame.total
      level[frame.depth] = same and outer or outer + 1
      local line = ("%8s  %s%s"):format(stacks.percent(frame.total, block.samples),
        ("  "):rep(level[frame.depth]), short(frame))
      lines[same and #lines or #lines + 1] = line
      before = frame
    end
  end
  return lines
end


-- ---- in sentences ----

local scopes = {
  thread = "%s samples of the threads that its ranges are on.",
  process = "%s samples, of all threads of its process: none was taken on the thread of its "
    .. "ranges.",
  time = "%s samples, of all threads while the GPU ran it, which the CPU had launched before.",
  run = "%s samples of the whole run.",
  stage = "%s samples, of the file that was named for this stage.",
}


local function plural(count) return count == 1 and "" or "s" end


-- Whose samples they are, and what they lack.
local function basis(stage)
  local said = { scopes[stage.scope]:format(text.count(stage.samples)) }
  if stage.file then
    said[#said + 1] = ("From %s: collapsed stacks have no times, so nothing but its name says "
      .. "what they are of%s."):format(stage.file, stage.scope == "run"
      and "; what came before and after the stages is among them" or "")
  end
  if (stage.other_threads or 0) > 0 then
    said[#said + 1] = ("%s of other threads of the process meanwhile are left out."):format(
      text.count(stage.other_threads))
  end
  if stage.without_stack > 0 then
    said[#said + 1] = ("%s without a stack."):format(text.count(stage.without_stack))
  end
  if stage.cut > 0 then
    said[#said + 1] = ("%s stack%s without the outermost functions, which could not be followed.")
      :format(text.count(stage.cut), plural(stage.cut))
  end
  return table.concat(said, " ")
end


local function title_of(stage)
  return stage.file and ("%s (%s)"):format(stage.stage, stage.file) or stage.stage
end


-- ---- the section ----

local function functions(stage, most)
  local rows = sections.stack_rows(stage, "functions")
  local shown = table.move(rows, 1, math.min(#rows, most), 1, {})
  return blocks.join(
    blocks.table { name = "stage_functions", columns = columns.stage_functions, rows = shown },
    stage.different > #shown and blocks.note(("%d of %s functions on these stacks, by the samples "
      .. "in themselves: llmprof show RUN cpu_samples has more."):format(#shown,
      text.count(stage.different))))
end


local function of_stage(number, stage, view)
  return { blocks.title(title_of(stage)), blocks.note(basis(stage)),
    blocks.flame { name = tostring(number), samples = stage.samples, tree = stage.tree,
      label = ("Stacks of %s: the outermost functions on top, as wide as they have samples")
        :format(title_of(stage)) },
    functions(stage, view.page and ON_PAGE or FUNCTIONS) }
end


function stacks.blocks(results, view)
  local made, list = results.cpu_samples, {}
  local outside = (made.outside or 0) > 0 and (" Of %s samples of the timeline %s are of no stage "
    .. "that counts."):format(text.count(made.timeline), text.count(made.outside)) or ""
  list[1] = blocks.note("Stacks that a sampler saw at regular times, so that a share of the "
    .. "samples is a share of the time on a CPU; a thread that waits is not sampled as a rule."
    .. outside)
  for i, stage in ipairs(made.stages) do list[#list + 1] = of_stage(i, stage, view) end
  return list
end


return stacks
