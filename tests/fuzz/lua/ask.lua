-- Questions of somebody else: code from the bytes, over a small trace. It reads and
-- computes; whatever it does, no file, process or other environment is reached.
local read_only = require "llmprof.cli.commands.ask"
local errors = require "llmprof.process.errors"
local evaluate = require "llmprof.cli.repl.evaluate"
local given = dofile "tests/fuzz/lua/given.lua"
local out = require "llmprof.io.output"

local TRACE = "tests/fixtures/small/run.sqlite"

-- Time and memory are limited by the process that `mcp` starts, which is not tried here: of
-- what takes them in one call, code gets no more than this.
local MOST = 1 << 16

local function bounded(name, size_of)
  local plain = string[name]
  string[name] = function(...) -- luacheck: ignore 122
    local from = debug.getinfo(2, "S")
    if from and from.source == "=code" and size_of(...) > MOST then error("too long", 0) end
    return plain(...)
  end
end

bounded("rep", function(text, count, between)
  return (#tostring(text) + #tostring(between or "")) * (tonumber(count) or 0)
end)
for _, name in ipairs { "find", "match", "gmatch", "gsub" } do
  bounded(name, function(text, pattern)
    local _, count = tostring(pattern):gsub("[-*+?]", "")
    return (#tostring(text) + 1) ^ count
  end)
end

local environment = read_only.environment { TRACE }
evaluate.run(assert(evaluate.compile("kernels, ops, ranges, api, results", "=code", environment)))


-- What code must not reach: that it was called is a finding.
local escaped
local function forbid(library, names)
  for _, name in ipairs(names) do
    local plain = library[name]
    library[name] = function(...)
      if escaped == false then escaped = name end
      return plain(...)
    end
  end
end
forbid(os, { "execute", "remove", "rename", "exit", "tmpname", "setlocale" })
forbid(io, { "open", "popen", "lines", "output", "input", "write" })
forbid(require "llmprof.spawn", { "start", "run" })
forbid(require "llmprof.fs", { "write", "remove", "rename", "mkdir", "mkdirs", "remove_tree",
  "copy", "chmod" })


local function ask(code)
  local chunk, wrong = evaluate.compile(code, "=code", environment)
  local said
  if chunk then
    escaped = false
    said, wrong = evaluate.run(chunk)
    local name = escaped
    escaped = nil
    if name then error("the code reached " .. name, 0) end
  end
  if said then return given.check_shown(out.bytes(said)) end
  errors.raise(wrong.kind, wrong.message, { hint = wrong.hint })
end


function fuzz(bytes) -- luacheck: ignore 111
  given.try(ask, bytes)
end
