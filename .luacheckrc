std = "lua54"
max_line_length = 100
self = false
exclude_files = { "build", "tmp", "completions/luals.lua" } -- the last is no code
files["tests/lua/bindings"].std = "+busted"
files["tests/lua/spec"].std = "+busted"
files["tests/lua/spec"].max_string_line_length = false
-- What llmprof prints goes through llmprof.io.output, where what files say is shown and not sent.
files["lua/llmprof"].not_globals = { "print", "io.write", "io.stdout.write", "io.stderr", "io.output" }
files["lua/llmprof/io/output.lua"].globals = { "io" }
files["lua/llmprof/cli/init.lua"].globals = { "print" } -- that of scripts, by way of it
