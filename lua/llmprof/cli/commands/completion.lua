-- llmprof completion SHELL: the script that makes a shell complete llmprof, or what editors know.
local annotations = require "llmprof.query.annotations"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local nearest = require "llmprof.tables.keys"
local out = require "llmprof.io.output"

local scripts = { bash = "completions/llmprof.bash", fish = "completions/llmprof.fish",
  zsh = "completions/_llmprof" }

local names = { "bash", "fish", "luals", "zsh" }

local command = {
  name = "completion",
  usage = "completion bash | fish | luals | zsh",
  details = [[
bash: llmprof completion bash >~/.local/share/bash-completion/completions/llmprof
fish: llmprof completion fish >~/.config/fish/completions/llmprof.fish
zsh:  llmprof completion zsh >FOLDER/_llmprof, with FOLDER in $fpath
An installed llmprof has put them in place.
luals: annotations of recipes, results and modules for editors with LuaLS:
  llmprof completion luals >FOLDER/llmprof.lua, with FOLDER in "workspace.library"]],
  options = {},
  completes = { names },
}


function command.run(_, words)
  local name = words[1] or ""
  if name ~= "luals" and not scripts[name] or #words > 1 then
    errors.raise("usage", words[1] and ("no completion for '%s'%s"):format(words[1],
      nearest.suggestion(words[1], names)) or "which shell?",
      { hint = "llmprof completion bash, fish, zsh, or luals" })
  end
  out.write(name == "luals" and annotations.text() or errors.check(files.own(scripts[name])))
  return 0
end


return command
