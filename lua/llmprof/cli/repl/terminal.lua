-- What the prompt keeps, the lines typed there (llmprof/history in the folder for state of the
-- XDG base directories), and how it shows what is longer than a screen.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local out = require "llmprof.io.output"
local paths = require "llmprof.io.paths"
local sys = require "llmprof.sys"

local history = {}


function history.path()
  local folder = paths.folder "state"
  return folder and folder .. "/history"
end


-- What went wrong is said once, and nothing is kept from then on.
local broken = false

local function give_up(message)
  broken = true
  out.complain("history: " .. message)
end


-- Do something to the file while no other prompt does.
local function held(folder, act)
  errors.check(fs.mkdirs(folder))
  local lock, message, code = fs.lock(folder, { wait = true })
  if not lock and code ~= "unsupported" then errors.raise("failed", message) end
  local ok, err = pcall(act)
  if lock then lock:close() end
  if not ok then error(err, 0) end
end


local function try(act)
  local path = history.path()
  if not path or broken then return end
  local ok, err = pcall(held, path:match "^(.*)/", function()
    errors.check(act(path))
  end)
  if not ok then give_up(errors.is(err) and err.message or tostring(err)) end
end


-- Read it into an editor.
function history.load(editor)
  try(function(path) return editor:load(path) end)
end


-- Add what the editor remembers since the last time to what prompts have kept by now.
function history.save(editor)
  try(function(path) return editor:save(path) end)
end


-- ---- long answers ----

-- More than fits the terminal, a screen at a time.

local PROMPT = "-- %d more lines: any key, or q --"


local function split(text)
  local lines = {}
  for line in text:gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  return lines
end


local function wants_more(editor, left)
  out.write(PROMPT:format(left))
  out.flush()
  local key = editor:key()
  out.write(out.trusted "\r\27[K")
  return key ~= nil and key ~= "q" and key ~= "Q"
end


-- Print text that ends in a newline; the editor reads the keys.
function history.print(text, editor)
  local height = sys.lines()
  local lines = height and split(text) or {}
  if #lines < (height or 0) or #lines == 0 then
    out.write(text)
    out.flush()
    return
  end
  local at, page = 1, height - 1
  while at <= #lines do
    out.write(table.concat(lines, "\n", at, math.min(at + page - 1, #lines)), "\n")
    at = at + page
    if at <= #lines and not wants_more(editor, #lines - at + 1) then return end
  end
  out.flush()
end


return history
