-- What would a change gain? The trace is replayed without and with it, and steps are compared
-- in pairs: a gain is never the record minus the replay.
--
--   local made = whatif.open(paths):change('graphs("decode")'):run()
--   whatif(run):graphs("decode"):scale(kernels:where { category = "norm" }, 0.5):run()
local answer = require "llmprof.whatif.answer"
local changes = require "llmprof.whatif.changes"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local lists = require "llmprof.tables.lists"
local layout = require "llmprof.bundle.layout"
local merged = require("llmprof.tables.keys").merged
local model = require "llmprof.whatif.model"
local queue = require "llmprof.whatif.load"
local range_name = require "llmprof.trace.nvtx_names"
local session = require "llmprof.query.session"
local session_source = require "llmprof.query.session.source"
local statistics = require "llmprof.statistics"
local tables = require "llmprof.tables"
local text = require "llmprof.text"
local yaml = require "llmprof.yaml"

local whatif = {}

-- Fewer equal steps than this make a range without a percentage.
local FEWEST = 20

-- A gain is not known better than to this part of it.
local LEAST_WIDTH = 0.05

-- Times that the bootstrap draws.
local DRAWS = 400

-- Of the time that the CPU adds to the GPU's, the halves of runs differ by no more than this part 9
-- times of 10; processes on a host that others use, too, by the second (docs/ledger.md).
local CPU_NOISE, HOST_NOISE = 0.127, 0.42

-- A replay without a change that is off by more makes the interval wider.
local MISFIT = 0.005

-- The CPU or the GPU limits what remains, if without the other this part of it stays.
local LIMITS = 0.9


-- ---- intervals ----

-- A generator of whole numbers below n, the same each time.
local function numbers()
  local state = 88172645463325252
  return function(n)
    state = state ~ (state << 13)
    state = state ~ (state >> 7)
    state = state ~ (state << 17)
    return (state & 0x7fffffff) % n
  end
end


-- Half of the width in which the mean lies 19 times of 20, by drawing blocks of neighbours.
local function bootstrap(values)
  local n, draw, means = #values, numbers(), {}
  local sums = { [0] = 0 } -- of the first values, twice round: a block's sum is one difference
  for i = 1, 2 * n do sums[i] = sums[i - 1] + values[(i - 1) % n + 1] end
  local block = math.max(1, math.floor(math.sqrt(n)))
  for i = 1, DRAWS do
    local sum, count = 0, 0
    while count < n do
      local first, size = draw(n), math.min(block, n - count)
      sum, count = sum + sums[first + size] - sums[first], count + size
    end
    means[i] = sum / n
  end
  return (statistics.percentile(means, 97.5) - statistics.percentile(means, 2.5)) / 2
end


-- How much the second half of some lengths differs from the first, as a part of it.
local function drift(lengths)
  local half = #lengths // 2
  if half == 0 then return 0 end
  local first = statistics.sum(table.move(lengths, 1, half, 1, {})) / half
  local second = statistics.sum(table.move(lengths, #lengths - half + 1, #lengths, 1, {})) / half
  return first > 0 and math.abs(second / first - 1) or 0
end


local function mean(values) return #values > 0 and statistics.sum(values) / #values or nil end


-- Half of the width of the interval of a mean gain.
local function width_of(gains, lengths)
  local gain = math.abs(mean(gains))
  return math.max(bootstrap(gains), drift(lengths) * gain, LEAST_WIDTH * gain)
end


-- The gain of a stage: { gain, low, high, share (nil: too few steps) }, ns a unit. least and
-- most: gains of each unit if as little or as much goes as may; off: what an assumption may be
-- wrong by, in ns; misfit: the part of the time that the replay without a change
-- is off by.
local function gain_of(now, least, most, off, misfit)
  local gain = mean(most)
  local made = { gain = gain, share = #now >= FEWEST and gain / mean(now) or nil }
  if not made.share then
    local width = LEAST_WIDTH * math.abs(gain)
    made.low = math.min(gain - width, table.unpack(least))
    made.high = math.max(gain + width, table.unpack(most))
  else
    local width = math.max(width_of(most, now), width_of(least, now))
    made.low = math.min(mean(least), gain) - width
    made.high = math.max(mean(least), gain) + width
  end
  if math.min(gain, table.unpack(least)) >= 0 and off == 0 then made.low = math.max(made.low, 0) end
  if off > 0 and gain ~= 0 then
    made.low = math.min(made.low, gain - off)
    made.high = math.max(made.high, math.min(gain + off, mean(now)))
  end
  if misfit > MISFIT and gain ~= 0 then
    made.low, made.high = made.low - misfit * mean(now), made.high + misfit * mean(now)
  end
  return made
end


-- ---- runs ----

-- The units of a stage, over all parts or of one: lists of their lengths in each of some runs.
local function pick(self, stage, number, runs)
  local made = {}
  for i in ipairs(runs) do made[i] = {} end
  for part_number, part in ipairs(self.model.parts) do
    for i, one in ipairs(part.units) do
      if one.stage == stage and (not number or number == part_number) then
        for k, lengths in ipairs(runs) do table.insert(made[k], lengths[part_number][i]) end
      end
    end
  end
  return table.unpack(made)
end


local function differences(from, to)
  local list = {}
  for i, value in ipairs(from) do list[i] = value - to[i] end
  return list
end


-- A change of the replay with all that was asked for; and by change, how much it found.
local function applied(self, most)
  local change, counts = self.model:change(), {}
  for i in ipairs(self.changes) do counts[i] = 0 end
  for _, part in ipairs(self.model.parts) do
    for i, one in ipairs(self.changes) do
      local own = one[part.number]
      if own then counts[i] = counts[i] + own.apply(self.model, part, change, most) end
    end
  end
  return change, counts
end


local function free_gpu(self, change)
  for _, part in ipairs(self.model.parts) do change:scale(part.number, part.operations, 0) end
  return self.model:run(change)
end


-- What assumptions may be wrong by: a part of what the CPU adds to the GPU's time, and of the gain;
-- second: the latter.
local function off_of(self, now, most, cpu_free)
  local off, bend = 0, 0
  for _, one in ipairs(self.changes) do
    for _, own in pairs(one) do
      off, bend = math.max(off, own.off or 0), math.max(bend, own.bend or 0)
    end
  end
  bend = bend * math.abs(mean(now) - mean(most))
  return off * math.max(mean(most) - mean(cpu_free), 0) + bend, bend
end


-- By what part the CPU's time differs from process to process: as it usually does, as the host was
-- seen to differ (`host_noise`), or as much as this run shows, between its halves and where it was
-- slower without the profiler than under it.
local function noise_of(self, stage, now)
  local noise = self.noise or math.max(CPU_NOISE, self.host_noise or 0, drift(now))
  for _, one in ipairs(self.model.fitted) do
    if one.stage == stage.name then noise = math.max(noise, one.factor - 1) end
  end
  local blind = self.model:blind()
  return math.max(noise, blind and blind.error or 0)
end


-- What a step of another run with the change may take, from the least to the most that goes: no CPU
-- takes the same time twice, and times without the profiler are only known so well. What the GPU
-- takes alone stays.
local function after_of(stage, row, most, least, noise, off, bend)
  local share = LEAST_WIDTH + (stage.plain and stage.misfit or 0)
  local function width(after)
    return share * after + noise * math.max(after - row.cpu_free, 0) + off
  end
  local from, to = math.min(most, least), math.max(most, least)
  local alone = (1 - share) * math.min(from, row.cpu_free) - bend
  return math.max(from - width(from), alone), to + width(to)
end


-- One row of the answer: a stage, of all parts or of one. runs: as recorded, with all that may go,
-- with as little as may, and where the GPU, and the CPU, take no time.
local function row_of(self, stage, number, runs)
  local now, most, least, gpu_free, cpu_free = pick(self, stage.name, number, runs)
  if #now == 0 then return nil end
  local off, bend = off_of(self, now, most, cpu_free)
  local row = gain_of(now, differences(now, least), differences(now, most), off,
    math.abs(stage.error or 0))
  row.stage, row.rank, row.units, row.now = stage.name, number and number - 1, #now, mean(now)
  row.after = row.now - row.gain
  row.gpu_free, row.cpu_free = mean(gpu_free), mean(cpu_free)
  local noise = noise_of(self, stage, now)
  row.after_low, row.after_high = after_of(stage, row, mean(most), mean(least), noise,
    off, bend)
  row.shared_low, row.shared_high = after_of(stage, row, mean(most), mean(least),
    math.max(noise, HOST_NOISE), off, bend)
  row.limit = row.gpu_free >= LIMITS * row.after and "CPU"
    or row.cpu_free >= LIMITS * row.after and "GPU" or "CPU and GPU"
  return row
end


local function rows_of(self, runs)
  local rows = {}
  for _, stage in ipairs(self.model.stages) do
    if stage.refused then
      rows[#rows + 1] = { stage = stage.name, units = stage.units, refused = stage.refused }
    else
      rows[#rows + 1] = row_of(self, stage, nil, runs)
      for number in ipairs(#self.model.parts > 1 and self.model.parts or {}) do
        rows[#rows + 1] = row_of(self, stage, number, runs)
      end
    end
  end
  return rows
end


-- The first change that finds nothing; nil where all find something.
local function idle_change(self, counts)
  for i, one in ipairs(self.changes) do
    if counts[i] == 0 then return select(2, next(one)) end
  end
end


local Answer = { __name = "llmprof.whatif.answer", __metatable = false }

function Answer.__tostring(made) return answer.render("table", made) end


local What = { __name = "llmprof.whatif" }
What.__index = What

-- A question is answered where it is printed.
function What.__tostring(asked) return tostring(asked:run()) end


-- The answer: { changes (list of { words, assumed, rests (on what), count, kind }), stages (list of
-- { stage, rank, units, now, after, after_low, after_high, shared_low, shared_high (on a host that
-- others use), gain, low, high (ns a unit), share, limit, gpu_free, cpu_free (ns), refused }),
-- model }. Raises for a change that finds nothing.
function What:run()
  if #self.changes == 0 then
    errors.raise("usage", "which change?", { hint = 'graphs("decode")' })
  end
  local change, counts = applied(self, true)
  local most = self.model:run(change)
  local idle = idle_change(self, counts)
  if idle then -- one whose operations another one removes would be without effect
    errors.raise("usage", ("%s: nothing matches%s"):format(idle.words,
      #self.changes > 1 and ", or another change has removed it" or ""), { hint = idle.hint
        or "llmprof -e 'kernels:group(\"stage\", \"category\"):count()' says what there is" })
  end
  local least = self.model:run((applied(self, false)))
  local gpu_free = free_gpu(self, (applied(self, true)))
  local cpu_free = self.model:without_cpu((applied(self, true)))
  local list = {}
  for i, one in ipairs(self.changes) do
    local _, own = next(one)
    list[i] = { words = own.words, assumed = own.assumed, rests = own.rests, kind = own.kind,
      count = counts[i] }
  end
  return setmetatable({ changes = list, model = self.model,
    stages = rows_of(self, { self.model.lengths, most, least, gpu_free, cpu_free }) }, Answer)
end


-- Is there a change for which this holds?
local function any(self, field)
  return lists.any(self.changes, function(one)
    for _, own in pairs(one) do
      if own[field] then return true end
    end
  end)
end


-- The part on which a gain is measured: the first whose rank no change leaves as late as it is, as
-- its own steps get no shorter. Nil: all, which are one.
local function measured_part(self)
  local parts = self.model.parts
  for _, part in ipairs(#parts > 1 and parts or {}) do
    local is_late = lists.any(self.changes, function(one)
      local rank = one[part.number] and one[part.number].rank
      return rank and #self.model:collectives(part, rank) > 0
    end)
    if not is_late then return part.number end
  end
  return #parts > 1 and 1 or nil
end


-- What a stage gets back, in ns over all of its units on that part: { gain, low, high, hidden
-- (what it would if the CPU took no time), now (what they take), idle (what a CPU that takes none
-- gives back), units, replayed (how many of them, where these stand for all), plain (whether these
-- are times without the profiler), bound (why it is only known what it is at most; nil where it is
-- replayed) }; nil and why not. alone: the gain alone.
function What:gain(name, alone)
  local stage = self.model:stage(name)
  if not stage then return nil, ("steps of %s are not known"):format(name) end
  local number = measured_part(self)
  local change <close>, counts = applied(self, true)
  local most = self.model:run(change, true)
  if idle_change(self, counts) then return nil, "the replay finds nothing that it would change" end
  local now, with_most = pick(self, stage.name, number, { self.model.lengths, most })
  if #now == 0 then return nil, ("no step of %s was replayed"):format(name) end
  local units = self.model:count(stage, number)
  if alone then return { gain = mean(differences(now, with_most)) * units } end
  self.model.gpu_alone = self.model.gpu_alone or self.model:without_cpu(self.model:change())
  local gpu = self.model.gpu_alone
  local row = row_of(self, stage, number, { self.model.lengths, most,
    any(self, "ends") and self.model:run((applied(self, false))) or most, gpu,
    any(self, "work") and self.model:without_cpu(change) or gpu })
  local made = { hidden = (row.gpu_free - row.cpu_free) * units,
    idle = (row.now - row.gpu_free) * units, units = units,
    replayed = #now < units and #now or nil, plain = stage.plain, bound = stage.refused }
  for _, key in ipairs { "gain", "low", "high", "now" } do made[key] = row[key] * units end
  return made
end


-- The same question with one more change.
local function with(self, one)
  return setmetatable({ model = self.model, changes = lists.joined(self.changes, { one }),
    noise = self.noise }, What)
end


-- With a change given as text, which is read over each part's own session, once.
function What:change(code)
  local one = self.model.read[code] or {}
  if not next(one) then
    for _, part in ipairs(self.model.parts) do
      one[part.number] = changes.read(code, part.source, part.number)
    end
    self.model.read[code] = one
  end
  if not next(one) then errors.raise("usage", ("%s: that is no change"):format(code)) end
  return with(self, one)
end


-- With the changes of a finding of the run, by its rank.
function What:finding(rank)
  local source = self.model.parts[1].source
  local list = source.results and (source.results.advice or {}).findings or {}
  local asked, why, hint = self, nil, nil
  if not source.results then
    why, hint = ("finding %s: %s is a trace, and findings are of a run"):format(rank, source.path),
      ("llmprof report FILE makes one; then: llmprof whatif latest %s"):format(rank)
  elseif not list[rank] then
    why, hint = ("there is no finding %s"):format(rank),
      "llmprof show RUN findings lists them: " .. #list
  elseif not list[rank].changes then
    why = ("finding %d, %s: it names no change that can be replayed"):format(rank, list[rank].title)
  end
  if why then errors.raise("usage", why, { hint = hint }) end
  for _, code in ipairs(list[rank].changes) do asked = asked:change(code) end
  return asked
end


for name, make in pairs(changes.makers) do
  What[name] = function(self, ...)
    local one = {}
    for _, part in ipairs(self.model.parts) do one[part.number] = make(...) end
    return with(self, one)
  end
end


-- Sources of llmprof.query.session as something to change; nil and why not where a long trace
-- cannot be replayed in part. in_part, stage: of model.new.
function whatif.over(sources, in_part, stage)
  local made, why = model.new(sources, in_part, stage)
  if not made then return nil, why end
  return setmetatable({ model = made, changes = {} }, What)
end


-- A run of several files of ranks as its report replays it: with those of the others, which lie in
-- it, or where they were taken from.
local function with_ranks(run)
  local files, list, places = (run.results.ranks or {}).files or {}, { run }, {}
  local path = run.path .. "/" .. layout.inputs
  local said = #files > 1 and fs.stat(path)
    and errors.check(yaml.decode(errors.check(fs.read(path)), { name = path })) or {}
  local capture = (said.capture or {}).folder and said.capture or {}
  local captured = lists.map(capture.files or {}, function(one)
    return { file = ("%s/%s"):format(capture.folder, one.file), bytes = one.bytes }
  end)
  for _, one in ipairs(lists.joined(said.files or {}, captured)) do
    local there = one.file and fs.stat(one.file)
    if there and (not one.bytes or there.size == one.bytes) then
      places[one.file:match "[^/]*$"] = one.file
    end
  end
  for i = 2, #files do
    local own = ("%s/%s/%s"):format(run.path, layout.nsys.folder, files[i].file)
    local there = fs.stat(own) and own or places[files[i].file]
    if not there then
      errors.raise("usage", ("%s: %s, of another rank, is not where it was"):format(run.path,
        files[i].file), { hint = "give the traces of all ranks in place of the run" })
    end
    list[i] = session_source.all(there)[1]
  end
  return list
end


-- The sources of what a session has open: traces, of which each is a rank, or one run's.
local function sources_of(list)
  if #list == 1 and list[1].results then return with_ranks(list[1]) end
  local run = lists.filtered(list, "results")[1]
  if run then
    errors.raise("usage", ("%s: a run is replayed alone"):format(run.path),
      { hint = "of two runs batch(n) alone lies between them; several traces are ranks" })
  end
  return list
end


-- What paths hold as something to change.
function whatif.open(paths) return whatif.over(sources_of(session.open(paths).files)) end


-- Is it a change as a text, 'graphs("decode")' or 'dtype "fp8"'?
function whatif.is_change(it)
  return type(it) == "string" and (it:find("(", 1, true) or it:find "^%a+ *[\"']") ~= nil
end


-- The batch n between those of two runs of one program: the run of the nearer batch with kernels
-- that take what lies between. files: what a session has open.
function whatif.between(files, n)
  if #files ~= 2 then
    errors.raise("usage", ("batch(%d) takes two runs of other batches, not %d"):format(n, #files),
      { hint = ("llmprof whatif RUN OTHER 'batch(%d)'"):format(n) })
  end
  local near, change = changes.between(files[1], files[2], n)
  return with(whatif.over { near }, { change })
end


-- What changes as texts and the ranks of findings ask together of what a session has open.
function whatif.asked(files, parts)
  local n = #parts == 1 and tostring(parts[1]):match "^%s*batch%s*%(%s*(%d+)%s*%)%s*$"
  if n then return whatif.between(files, tonumber(n)) end
  local asked = whatif.over(sources_of(files))
  for _, part in ipairs(parts) do
    local rank = tonumber(part)
    asked = rank and asked:finding(rank) or asked:change(tostring(part))
  end
  return asked
end


-- The function `whatif` of a session: whatif(1, "dtype(fp8)"), printed, is what finding 1 and a
-- change gain together. files(): what is open; in place of it the first argument may name a run
-- or a trace.
function whatif.asker(files)
  return function(...)
    local parts, first = { ... }, ...
    local path = type(first) == "table" and first.dir or first
    local is_named = type(path) == "string" and not whatif.is_change(path)
    if is_named then table.remove(parts, 1) end
    local wanted = #parts == 1 and queue.asked(parts[1])
    if wanted then
      return queue.render("table", is_named and { path } or lists.map(files(), "path"), wanted)
    end
    return whatif.asked(is_named and session.open({ path }).files or files(), parts)
  end
end


-- What has units of a stage that the windows before left out, in a window of its own.
local function over_stage(question, name)
  local sources, parts = {}, question.model.parts
  local known = parts[1].counts[name] and name or range_name.role(name)
  if not (known and parts[1].window and parts[1].counts[known]) then return question end
  for i, part in ipairs(parts) do
    sources[i] = session_source.of(part.trace,
      { results = part.source.results, found = part.found })
  end
  return whatif.over(sources, true, known)
end


-- What f gives; nil and the message of an error whose field is this.
local function unless(field, value, f, ...)
  local ok, made, why = errors.call(f, ...)
  if ok then return made, why end
  if made[field] ~= value then error(made, 0) end
  return nil, made.message
end


-- A function for advice: from changes and a stage to what the changes give back of it, as
-- What.gain, of a long trace by steps that stand for all. open: gives the sources, or nil
-- and why there are none, when it is first asked.
function whatif.replayer(open)
  local first, refused
  local others = {} -- by stage, those that it has none of
  return function(codes, stage, alone)
    if not first and not refused then
      local sources
      sources, refused = open()
      if sources then first, refused = unless("code", "range", whatif.over, sources, true) end
    end
    if not first then return nil, refused end
    local question = first
    if not first.model:stage(stage) then
      others[stage] = others[stage] or over_stage(first, stage)
      question = others[stage]
    end
    if not question.model:stage(stage) then return question:gain(stage) end
    return unless("kind", "usage", function()
      local asked = question
      for _, code in ipairs(codes) do asked = asked:change(code) end
      return asked:gain(stage, alone)
    end)
  end
end


-- ---- what came of a change ----

-- A prediction held against what came: the replay of the run before with a change, and the run
-- after it.

-- Launches of a kind that two runs share are at least as many as this in each.
local LEAST_LAUNCHES = 5

-- How fast the host was in a later run, by the launches of one kernel after the same call in both:
-- { factor (its CPU time over that of the run before, weighted median), from, to (of half of that
-- time), kinds }; nil where they share none. earlier, later: of model.launch_times.
function whatif.host_of(earlier, later)
  local list, all = {}, 0
  for key, times in pairs(earlier) do
    local others = later[key] or {}
    if math.min(#times, #others) >= LEAST_LAUNCHES then
      local now = statistics.median(times)
      list[#list + 1] = { ratio = statistics.median(others) / now,
        weight = now * math.min(#times, #others) }
      all = all + list[#list].weight
    end
  end
  if #list == 0 then return nil end
  lists.sort(list, "ratio")
  local function at(share)
    local weight = 0
    for _, one in ipairs(list) do
      weight = weight + one.weight
      if weight >= share * all then return one.ratio end
    end
    return list[#list].ratio
  end
  return { factor = at(0.5), from = at(0.25), to = at(0.75), kinds = #list }
end


-- The question under the profiler, of a host as fast as it was in a later run.
local function at_speed(question, host)
  local asked = setmetatable({ changes = question.changes,
    model = question.model:profiled(host.factor),
    noise = math.max(host.to - host.factor, host.factor - host.from) / host.factor }, What)
  return asked:scale(changes.choices.cpu, host.factor)
end


-- What a step of a stage takes if the CPU, or the GPU, takes no time: ns each.
local function alone(asked, name)
  local cpu_alone = free_gpu(asked, asked.model:change())
  local gpu_alone = asked.model:without_cpu(asked.model:change())
  local cpu, gpu = pick(asked, name, nil, { cpu_alone, gpu_alone })
  return mean(cpu), mean(gpu)
end


-- ns of a step of a stage in each kernel, by label.
local function kernels_of(results, stage)
  local made, steps = {}, stage.wall.count * (stage.steps or 1)
  for _, kernel in ipairs(results.kernels) do
    local label = kernel.label or kernel.name
    if kernel.stage == stage.name then
      made[label] = (made[label] or 0) + kernel.total_ns / steps
    end
  end
  return made
end


-- Why it came so: what the GPU did in a step before and after, and kernels that differ most; nil
-- where a source has no results, or no kernels of the stage.
local function difference_of(before, after, name)
  local words, taken, list = {}, {}, {}
  for i, source in ipairs { before, after } do
    local stage = source.results and lists.find(source.results.stages, "name", name)
    if not (stage and stage.wall and (stage.kernels or 0) > 0) then return nil end
    local steps = stage.steps or 1
    words[i] = ("%.0f kernels, %.0f launches and %.3f ms of the GPU"):format(stage.kernels / steps,
      (stage.launches or 0) / steps, stage.gpu_time_ns / steps / 1e6)
    taken[i] = kernels_of(source.results, stage)
  end
  for kernel in pairs(merged(taken[1], taken[2])) do
    list[#list + 1] = { kernel = kernel,
      ns = (taken[2][kernel] or 0) - (taken[1][kernel] or 0) }
  end
  lists.sort(list, function(entry) return -math.abs(entry.ns) end, "kernel")
  local most = lists.map(lists.first(list, 3), function(entry)
    return ("%s %+.3f ms"):format(entry.kernel, entry.ns / 1e6)
  end)
  return ("A step had %s, and has %s. Most differ: %s."):format(words[1], words[2],
    table.concat(most, ", "))
end


-- What a run's command starts: the name of its script, its module or its program, whatever stands
-- before it; nil: not known.
local function program_of(results)
  local words = {}
  for word in (((results.source or {}).timeline or {}).command or ""):gmatch "%S+" do
    local name = word:match "[^/]*$"
    local is_setting = word:find "^%-" or word:find "^[%w_]+=" or name == "env"
    words[#words + 1] = not is_setting and name or nil
  end
  for i, name in ipairs(words) do
    if name:find "^python[%d.]*$" then return words[i + 1] or name end
  end
  return words[1] ~= "nsys" and words[1] ~= "ncu" and words[1] or nil
end


-- The finding of a run whose change another one shows, as the largest gain that is found there no
-- more: its rank; nil without one, and where the runs are of two programs, models or GPUs. A rule
-- that could not look at the other run tells nothing of it.
function whatif.fitting(before, after)
  local left, unknown = {}, {}
  if (before.run or {}).recipe ~= (after.run or {}).recipe
    or program_of(before) ~= program_of(after)
    or (before.model or {}).name ~= (after.model or {}).name
    or (before.hardware or {}).name ~= (after.hardware or {}).name then
    return nil
  end
  for _, one in ipairs(after.advice and after.advice.abstained or {}) do
    unknown[one.rule] = true
  end
  for _, one in ipairs(after.advice and after.advice.findings or {}) do
    left[one.rule .. "\0" .. (one.stage or "")] = true
  end
  for rank, one in ipairs(before.advice and before.advice.findings or {}) do
    local is_change = one.changes and one.gain_ns and (one.gain_share or 0) >= LEAST_WIDTH
      and not one.changes[1]:find "^scale%(cpu" -- that is a bound
    if is_change and not unknown[one.rule]
      and not left[one.rule .. "\0" .. (one.stage or "")] then
      return rank
    end
  end
end


-- What came of a stage, against the row of an answer: { predicted, low, high, came (ns a unit),
-- inside, off (of what came) }.
local function held(row, came)
  return { predicted = row.after, low = row.after_low, high = row.after_high, came = came,
    inside = row.after_low <= came and came <= row.after_high, off = row.after / came - 1 }
end


-- Sources of the runs before and after, and changes with " + " between them, or the rank of a
-- finding of the run before.
-- Rows: { stage, now, predicted, low, high, came (ns a unit), inside, off (of what came), cpu, gpu
-- (each alone, as predicted), cpu_came, gpu_came, host (of host_of, with the same at its speed,
-- under the profiler; nil: not known), why (nil: not known) } of stages that both have
-- and that are predicted. Times are without the profiler where both have these.
function whatif.outcome(before, after, code)
  local codes, from, words = {}, 1, tostring(code)
  local outside = words:gsub("%b()", function(part) return ("."):rep(#part) end)
  for stop, after_it in (outside .. " + "):gmatch "() %+ ()" do
    codes[#codes + 1], from = words:sub(from, stop - 1), after_it
  end
  local question = whatif.asked(before, codes)
  local made, rows = question:run(), {}
  local later = whatif.over(sources_of(after))
  local host = not any(question, "cpu") and whatif.host_of(
    model.launch_times(question.model.parts), model.launch_times(later.model.parts)) or nil
  local by_stage = {}
  for _, row in ipairs(host and at_speed(question, host):run().stages or {}) do
    by_stage[row.stage] = by_stage[row.stage] or row
  end
  for _, row in ipairs(made.stages) do
    local stage = not row.rank and not row.refused and later.model.by_name[row.stage]
    local is_plain = made.model.by_name[row.stage].plain
    local profiled = stage and stage.recorded / stage.units
    local length = is_plain and stage and stage.plain_ns or not is_plain and profiled
    if length and row.gain ~= 0 then
      local one = held(row, length)
      one.stage, one.now, one.cpu, one.gpu = row.stage, row.now, row.gpu_free, row.cpu_free
      one.why = difference_of(before[1], after[1], row.stage)
      one.cpu_came, one.gpu_came = alone(later, row.stage)
      one.host = host and setmetatable(held(by_stage[row.stage], profiled), { __index = host })
      rows[#rows + 1] = one
    end
  end
  return rows, made
end


local COLUMNS = {
  { key = "stage", title = "Stage" },
  { key = "now", title = "Before ms", type = "number", digits = 3, scale = 1e-6 },
  { key = "predicted", title = "Predicted ms", type = "number", digits = 3, scale = 1e-6 },
  { key = "between", title = "Between ms" },
  { key = "came", title = "Measured ms", type = "number", digits = 3, scale = 1e-6 },
  { key = "off_percent", title = "Off %", type = "number", digits = 1 },
  { key = "verdict", title = "Verdict" },
}


-- Which of the two was predicted wrong.
local ALONE = "A step of %s takes the CPU alone %.3f ms as predicted, %.3f as measured, the GPU "
  .. "alone %.3f and %.3f."

local HOST = "The host: launches that both runs make take %.2f times the CPU time (half of it %.2f "
  .. "to %.2f, %s kinds). At that speed, under the profiler, a step was predicted to take %.3f ms, "
  .. "%.3f to %.3f, and takes %.3f: %s."

local function host_line(host)
  if not host then return "The host: no launches of both runs tell whether it stayed as fast." end
  return HOST:format(host.factor, host.from, host.to, text.count(host.kinds),
    host.predicted / 1e6, host.low / 1e6, host.high / 1e6, host.came / 1e6,
    host.inside and "inside" or "outside")
end


-- The rows as a table of a format with headings, with its heading. finding: what it was predicted
-- by, where that is one.
function whatif.render_outcome(format, rows, code, finding)
  for _, row in ipairs(rows) do
    row.between = ("%.3f to %.3f"):format(row.low / 1e6, row.high / 1e6)
    row.off_percent, row.verdict = row.off * 100, row.inside and "inside" or "outside"
  end
  local one = tables.format(format)
  local heading = ("%sPredicted by %s\n\n"):format(one.heading, one.escape(finding or code))
  if #rows == 0 then return heading .. "No stage was predicted to change.\n" end
  local lines = { tables.render(format, COLUMNS, rows) }
  for _, row in ipairs(rows) do
    lines[#lines + 1] = one.escape(ALONE:format(row.stage, row.cpu / 1e6, row.cpu_came / 1e6,
      row.gpu / 1e6, row.gpu_came / 1e6))
    lines[#lines + 1] = one.escape(host_line(row.host))
    lines[#lines + 1] = row.why and one.escape(row.why)
    lines[#lines + 1] = ("For the ledger: | %s | `%s` | %.2f | %.2f | %s | %.2f | %s |"):format(
      row.stage, code, row.now / 1e6, row.predicted / 1e6, row.between, row.came / 1e6,
      row.verdict)
  end
  return heading .. table.concat(lines, "\n") .. "\n"
end


return whatif
