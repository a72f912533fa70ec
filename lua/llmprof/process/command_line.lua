-- Commands as people paste them into a shell. llmprof itself never uses one.
local command_line = {}


-- A word as a shell takes it for one, whatever is in it.
function command_line.quote(word)
  if word:find "^[%w_@%%+=:,./-]+$" then return word end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end


-- argv as one line, each word quoted where a shell asks for it.
function command_line.show(argv)
  local words = {}
  for i, word in ipairs(argv) do words[i] = command_line.quote(word) end
  return table.concat(words, " ")
end


-- ---- for others ----

-- Values that can tell nothing but what they say.
local plain_words = {}
for _, word in ipairs { "", "true", "false", "on", "off", "yes", "no", "none", "auto", "all",
  "null", "cpu", "cuda", "fp32", "fp16", "bf16", "fp8", "float32", "float16", "bfloat16" } do
  plain_words[word] = true
end

-- What stands for a value that strangers do not see.
command_line.HIDDEN = "<...>"


local function is_plain(value)
  return plain_words[value] or value:find "^[+-]?%d[%d.]*$" and #value <= 20
    or value:find "^%d[%d,:x-]*$" and #value <= 20 or value:find "^cuda:%d+$"
    or value:find "^<run>[%w_./-]*$"
end


-- "--name", "-n" or "key" of a word, what joins a value to it, and the value; only the
-- value of a word that is none.
local function parts_of(word)
  local name, value = word:match "^(%-*%a[%w_.-]*)=(.*)$"
  if name then return name, "=", value end
  if word:find "^%-%-?%a[%w_-]*$" then return word, "", nil end
  return "", "", word
end


-- A program or a script: its name and where it lies in a source tree. first: no other
-- word but options came before.
local function is_program(word, first)
  return word:find "^[%w_./-]+$" and (first or word:find "%.py$" or word:find "%.lua$")
end


-- A command as strangers may see it: names of options stay, and of values those that can
-- be no secret by their form, or that belong to one of `open` (option -> true).
function command_line.public(argv, open)
  local words, first = {}, true
  for i, word in ipairs(argv) do
    local name, between, value = parts_of(word)
    local seen = value == nil or is_program(word, first) or open[name] or is_plain(value)
    words[i] = seen and word or name .. between .. command_line.HIDDEN
    first = first and name ~= ""
  end
  return words
end


return command_line
