-- Runs busted under llmprof itself, so that sanitizers see the C beneath:
--   llmprof exec tests/lua/run.lua [busted options]
require "busted.runner" { standalone = false }
