-- Commands as people paste them into a shell. llmprof itself never uses one.
local command_line = {}


local function quote(word)
  if word:find "^[%w_@%%+=:,./-]+$" then return word end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end


-- argv as one line, each word quoted where a shell asks for it.
function command_line.show(argv)
  local words = {}
  for i, word in ipairs(argv) do words[i] = quote(word) end
  return table.concat(words, " ")
end


return command_line
