-- A Markdown file as its console blocks and files, and back as text.
local errors = require "llmprof.process.errors"

local parse = {}


local function lines_of(text)
  local lines = {}
  for line in (text:gsub("\n$", "") .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = line end
  return lines
end


-- The commands of a console block: { text, line, expected }.
local function commands_of(lines, first, path)
  local commands, command = {}, nil
  for i, line in ipairs(lines) do
    local start, more = line:match "^%$ (.*)$", line:match "^> ?(.*)$"
    if start then
      command = { text = start, line = first + i - 1, expected = {} }
      commands[#commands + 1] = command
    elseif not command then
      errors.raise("usage", ("%s:%d: output without a command"):format(path, first + i - 1))
    elseif more and #command.expected == 0 then
      command.text = command.text .. "\n" .. more
    else
      table.insert(command.expected, line)
    end
  end
  return commands
end


local function block_of(info, lines, first, path)
  local block = { info = info, lines = lines }
  if info == "console" then
    block.commands = commands_of(lines, first, path)
  else
    block.file = info:match "^%w+ ([%w_./-]+)$"
    block.contents = table.concat(lines, "\n") .. "\n"
  end
  return block
end


-- { parts, blocks, normalisers }: parts are the lines of prose and the blocks,
-- in order; normalisers the names that the file asks for.
function parse.document(text, path)
  local document = { parts = {}, blocks = {}, normalisers = {} }
  local open, first
  for number, line in ipairs(lines_of(text)) do
    local info = line:match "^```(.*)$"
    if open and info == "" then
      local block = block_of(open.info, open.lines, first, path)
      table.insert(document.parts, block)
      table.insert(document.blocks, block)
      open = nil
    elseif open then
      table.insert(open.lines, line)
    elseif info then
      open, first = { info = info, lines = {} }, number + 1
    else
      table.insert(document.parts, line)
      local names = line:match "^<!%-%- normalise: (.-) %-%->$"
      for name in (names or ""):gmatch "%S+" do table.insert(document.normalisers, name) end
    end
  end
  if open then
    errors.raise("usage", ("%s:%d: a block that does not end"):format(path, first - 1))
  end
  return document
end


local function command_lines(commands)
  local lines = {}
  for _, command in ipairs(commands) do
    lines[#lines + 1] = "$ " .. command.text:gsub("\n", "\n> ")
    table.move(command.expected, 1, #command.expected, #lines + 1, lines)
  end
  return lines
end


-- The document as text again, with what its commands are now expected to print.
function parse.text(document)
  local lines = {}
  for _, part in ipairs(document.parts) do
    if type(part) == "string" then
      lines[#lines + 1] = part
    else
      lines[#lines + 1] = "```" .. part.info
      local inside = part.commands and command_lines(part.commands) or part.lines
      table.move(inside, 1, #inside, #lines + 1, lines)
      lines[#lines + 1] = "```"
    end
  end
  return table.concat(lines, "\n") .. "\n"
end


return parse
