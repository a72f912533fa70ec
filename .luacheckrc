std = "lua54"
max_line_length = 100
self = false
exclude_files = { "build", "tmp", "completions/luals.lua" } -- the last is no code
files["tests/lua/bindings"].std = "+busted"
files["tests/lua/spec"].std = "+busted"
files["tests/lua/spec"].max_string_line_length = false
