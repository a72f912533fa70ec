-- llmprof whatif RUN CHANGE...: what a change would gain.
local errors = require "llmprof.process.errors"
local lazy = require "llmprof.io.lazy"
local load_model = lazy "llmprof.whatif.load"
local answer = lazy "llmprof.whatif.answer"
local fs = require "llmprof.fs"
local lists = require "llmprof.tables.lists"
local out = require "llmprof.io.output"
local session = lazy "llmprof.query.session"
local table_options = require "llmprof.cli.table_options"
local whatif = lazy "llmprof.whatif"

local command = {
  name = "whatif",
  usage = "whatif [OPTION...] RUN_ID | FOLDER | latest | TRACE... [FINDING | 'CHANGE']...",
  details = [[
The trace is replayed with and without the changes, which are made together; without one, it
says how well the replay fits. Changes, in the words of `llmprof -e`:

  graphs("decode")                               one CUDA graph a step
  scale(kernels:where { category = "norm" }, 0.5)   kernels that take half as long
  scale(cpu "decode", 0.8)                       the CPU takes less between and in calls
  remove(kernels:where { ... })                  without them and their launches
  remove(syncs "decode"), remove(syncs("decode", "last" or "inner"))   waits for the GPU
  remove(gaps "decode"), remove(between "decode")   CPU between calls, or between steps
  remove(gaps:where { after = "NAME" })          some gaps
  remove(copies), remove(allocations "decode")
  fuse(kernels:where { category = "elementwise" })  one kernel in place of those in a row
  grouped(experts "decode")                      experts of a layer in the launches of one
  even("decode")                                 no step takes longer than half of them
  waits(2), waits(none)                          nobody waits for rank 2, no rank for another
  bandwidth(1.43), gpu "h100_sxm"                other memory, or a GPU of conf/hardware
  dtype "fp8", dtype "fp4"                       weights of matmuls in fewer bits
  tp(2), tp(2, { gb_per_s = 300, us = 8 })       matmuls over GPUs; what an all-reduce takes
  overlap(communication "decode")                collectives hidden by other kernels
  tokens(512)                                    longer answers, as attention grows over the steps
  batch(8)                                       between two runs of other batches, both given
  load(2, 4, 8)                                  latencies of a server at that many requests at a
                                                 time; alone, with runs or metrics.json of others

A number takes the changes of that finding of a run.

Of several traces, one for each rank, `rank == 2 and CHANGE` changes one alone.]],
  options = {
    table_options.document_format,
    table_options.json,
  },
  completes = "run",
}


-- Words that are files, folders or runs come first; a change has a parenthesis, a finding is a
-- number.
local function divide(words)
  local codes, paths = lists.parted(words, function(word)
    return (whatif.is_change(word) or word:find "^%d+$") and not fs.stat(word)
  end)
  if #paths == 0 then
    errors.raise("usage", "whatif: which run or trace?",
      { hint = [[llmprof whatif run.sqlite 'graphs("decode")']] })
  end
  return paths, codes
end


function command.run(given, words)
  local paths, codes = divide(words)
  local format = given.json and "json" or given.format
  local wanted = #codes == 1 and load_model.asked(codes[1])
  if wanted then
    out.write(load_model.render(format, paths, wanted))
    return 0
  end
  local question = whatif.asked(session.open(paths).files, codes)
  local made = #codes > 0 and question:run() or { model = question.model }
  out.write(answer.render(format, made))
  return 0
end


return command
