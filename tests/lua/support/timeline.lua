-- Traces of a few lines, for specs that are about what is above the reader: their
-- form is in tests/timeline/timeline_reader.h.
local fs = require "llmprof.fs"
local sys = require "llmprof.sys"
local trace_file = require "llmprof.trace.file"

local timeline = {}

-- Lets trace.open take such files.
local library = assert(sys.executable()):gsub("[^/]*/[^/]*$", "lib/test_timeline.so")
assert(package.loadlib(library, "luaopen_test_timeline"))()


-- The trace of the lines, without the first, "timeline".
function timeline.of(lines)
  local folder = assert(fs.temp_dir "llmprof-timeline-")
  assert(fs.write(folder .. "/timeline.txt", "timeline\n" .. lines))
  local opened, trace = pcall(trace_file.open, folder .. "/timeline.txt")
  assert(fs.remove_tree(folder))
  if not opened then error(trace, 0) end
  return trace
end


-- The trace of tests/fixtures/timelines/NAME.txt.
function timeline.fixture(name)
  return trace_file.open(("tests/fixtures/timelines/%s.txt"):format(name))
end


return timeline
