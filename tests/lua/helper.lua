-- Loaded by busted before the specs: no new globals, and the collector as
-- aggressive as it goes when LLMPROF_TEST_GC is set.
if os.getenv "LLMPROF_TEST_GC" then
  collectgarbage("setpause", 0)
  collectgarbage("setstepmul", 400)
end
