-- What is wrong with a file that a workload wrote: check.lua metrics|operators FILE. By the schema
-- in docs/; nothing is printed of a good one.
local document = require "llmprof.io.document"

local value, message = document.read(arg[2], arg[1])
if not value then print(message) end
