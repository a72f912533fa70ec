-- llmprof help [TOPIC]: the commands, one of them, or a page of the manual.
local lazy = require "llmprof.io.lazy"
local commands = lazy "llmprof.cli.commands"
local errors = require "llmprof.process.errors"
local manual = lazy "llmprof.query.manual"
local nearest = require "llmprof.tables.suggest"
local out = require "llmprof.io.output"
local plain = lazy "llmprof.report.plain"
local reference = lazy "llmprof.query.reference"
local term = require "llmprof.io.terminal"

local command = {
  name = "help",
  summary = "what a command does, or a page of the manual",
  usage = "help [OPTION] [COMMAND | TOPIC | WORD]",
  details = "Without a word it lists commands and topics; any other is looked for in all of it.",
  options = { { "markdown", help = "print a page of the manual as it is written" } },
  completes = "topic",
}


local function unknown(name)
  local known = commands.names()
  for _, topic in ipairs(manual.topics()) do known[#known + 1] = topic.name end
  for _, module in ipairs(reference.module_names()) do known[#known + 1] = module end
  errors.raise("usage", ("no command or topic '%s'%s"):format(name,
    nearest.suggestion(name, known)), { hint = "llmprof help lists them" })
end


local function print_page(page)
  local screen = term.new(io.stdout, 1)
  local function bold(line) return out.bytes(screen.style("bold", line)) end
  out.write(out.trusted(plain.render(page, bold)))
end


function command.run(given, words)
    local name = words[1]
  if #words > 1 then
    errors.raise("usage", "one topic at a time", { hint = "llmprof help " .. name })
  elseif not name then
    out.write(commands.general_help())
    return 0
  end
  local page, known = manual.page(name), commands.has(name)
  if not page and (given.markdown or not known) then
    local found = not given.markdown and commands.search(name)
    if not found then unknown(name) end
    out.write(found)
    return 0
  end
  if given.markdown then
    out.write(page)
    return 0
  end
  if known then out.write(commands.help_of(commands.load(name), {})) end
  if known and page then out.write "\n" end
  if page then print_page(page) end
  return 0
end


return command
