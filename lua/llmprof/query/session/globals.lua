-- The globals of a session, in the order they are listed: name, what it is. What
-- several files have is of the first that has it.
return {
  { "kernels", "every kernel: a frame" },
  { "ops", "kernels, copies, sets and graphs: a frame" },
  { "transfers", "memory copies and sets: a frame" },
  { "api", "calls of the CUDA API: a frame" },
  { "ranges", "NVTX ranges: a frame" },
  { "stages", "every time a stage ran: a frame" },
  { "steps", "passes of the model, of each rank: a frame" },
  { "collectives", "kernels that communicate, with who waits for whom: a frame" },
  { "counters", "launches that ncu measured: a frame" },
  { "results", "results.json of the run" },
  { "run", "the run: id, dir, recipe, status, manifest" },
  { "trace", "the trace itself, as llmprof.trace opens it" },
  { "sql", "sql[[SELECT ...]] on the export: a frame" },
  { "files", "what was opened: files[2].kernels is that of the second" },
  { "help", "help(x) about a method, a column or a global" },
}
