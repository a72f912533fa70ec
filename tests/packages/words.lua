-- The words it was given.
io.write(table.concat(arg, "|"), "\n")
