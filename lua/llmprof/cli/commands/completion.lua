-- llmprof completion SHELL: the script that makes a shell complete llmprof.
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local nearest = require "llmprof.tables.suggest"
local out = require "llmprof.io.output"

local scripts = { bash = "completions/llmprof.bash", fish = "completions/llmprof.fish",
  zsh = "completions/_llmprof" }

local shells = { "bash", "fish", "zsh" }

local command = {
  name = "completion",
  usage = "completion bash | fish | zsh",
  details = [[
bash: llmprof completion bash >~/.local/share/bash-completion/completions/llmprof
fish: llmprof completion fish >~/.config/fish/completions/llmprof.fish
zsh:  llmprof completion zsh >FOLDER/_llmprof, with FOLDER in $fpath
An installed llmprof has put them in place.]],
  options = {},
  completes = shells,
}


function command.run(_, words)
  local path = scripts[words[1] or ""]
  if not path or #words > 1 then
    errors.raise("usage", words[1] and ("no completion for '%s'%s"):format(words[1],
      nearest.suggestion(words[1], shells)) or "which shell?",
      { hint = "llmprof completion bash, fish or zsh" })
  end
  out.write(errors.check(files.own(path)))
  return 0
end


return command
