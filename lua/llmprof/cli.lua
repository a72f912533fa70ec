-- The command line: which subcommand, and how an error ends the process.
local cli = {}


function cli.main(argv)
  if argv[1] == "--version" then
    print("llmprof " .. require("llmprof.version").version)
    return 0
  end
  if argv[1] == "exec" then
    local script = argv[2]
    arg = { [0] = script, table.unpack(argv, 3) } -- luacheck: ignore 121
    local chunk, message = loadfile(script)
    if not chunk then
      io.stderr:write("llmprof: ", message, "\n")
      return 2
    end
    local ok, err = xpcall(chunk, debug.traceback, table.unpack(arg))
    if not ok then
      io.stderr:write("llmprof: ", tostring(err), "\n")
      return 2
    end
    return 0
  end
  return 0
end


return cli
