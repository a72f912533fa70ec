-- Plays transcripts: Markdown files with commands and what they print.
--
--   llmprof exec tests/e2e/transcript.lua [--update] FILE.md...
--
-- A fenced block `console` holds commands, each in bash, in one folder per file:
--
--   $ llmprof --version        a command; lines "> ..." continue it
--   llmprof 0.1.0              what it prints on standard output,
--   ! llmprof: ...             then on standard error
--   [2]                        its exit status, when that is not 0
--   ...                        any lines, none included
--
-- A block `lua NAME.lua` (or another language) is written to that file first.
-- <!-- normalise: NAME... --> names the normalisers (transcript/normalise.lua).
-- Whatever a transcript leaves running, or leaves outside its folder, fails it.
-- --update writes what the commands print into the file.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"

local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path

local compare = require "transcript.compare"
local normalise = require "transcript.normalise"
local parse = require "transcript.parse"
local sandbox = require "transcript.sandbox"


local function show(title, lines)
  io.stderr:write(title, "\n")
  for _, line in ipairs(lines) do io.stderr:write("    ", line, "\n") end
end


-- Play a command; whether it printed what was expected. What it printed
-- replaces what was expected.
local function play(box, normalisers, path, command)
  local got = normalisers(box:run(command.text))
  if compare.fits(normalisers(command.expected), got) then return true end
  show(("FAILED: %s:%d: $ %s"):format(path, command.line, command.text), {})
  show("  expected:", command.expected)
  show("  got:", got)
  command.expected = got
  return false
end


local function play_file(path, update)
  local document = parse.document(assert(fs.read(path)), path)
  local box <close> = sandbox.new(assert(fs.realpath(here .. "/../..")))
  local normalisers = normalise.chain(document.normalisers, box)
  local passed, commands = true, 0
  for _, block in ipairs(document.blocks) do
    if block.file then box:write(block.file, block.contents) end
    for _, command in ipairs(block.commands or {}) do
      passed = play(box, normalisers, path, command) and passed
      commands = commands + 1
    end
  end
  if commands == 0 then errors.raise("usage", path .. ": no command") end
  local left = box:leftovers()
  if #left > 0 then show(("FAILED: %s: left behind:"):format(path), left) end
  if update and not passed then assert(fs.write(path, parse.text(document))) end
  return passed and #left == 0
end


if #arg == 0 then errors.raise("usage", "which transcript?") end
local failed, update = 0, false
for _, word in ipairs(arg) do
  if word == "--update" then
    update = true
  elseif not play_file(word, update) then
    failed = failed + 1
  end
end
return failed > 0 and 1 or 0
