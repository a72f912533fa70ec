-- Lists of inputs: inputs.yaml of a bundle, or a YAML file in its form.
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local yaml = require "llmprof.yaml"

local inputs = {}


local function bad(where, message)
  errors.raise("usage", ("%s: %s"):format(where, message),
    { hint = "inputs.yaml of a run is such a list: files: [{ name: ..., sha256: ... }]" })
end


-- An entry: a name, or { name, bytes, sha256 } as metrics.json tells of inputs.
local function check(entry, where, number)
  if type(entry) == "string" then entry = { name = entry } end
  local at = ("%s: files[%d]"):format(where, number)
  if type(entry) ~= "table" then bad(at, "a name, or name and sha256, is expected") end
  if type(entry.name) ~= "string" or entry.name == "" then bad(at, "name is missing") end
  local digest = entry.sha256
  local fits = type(digest) == "string" and #digest == 64 and digest:find "^%x+$"
  if digest ~= nil and not fits then
    bad(at, "sha256: 64 hexadecimal digits are expected")
  end
  return { name = entry.name, sha256 = digest, bytes = entry.bytes }
end


-- The inputs that a file lists, in order: { name, sha256 (or nil), bytes (or nil) }.
function inputs.read(path)
  local contents, where = files.read_path(path)
  if not contents then bad(path, "no such file") end
  local tree = errors.check_as("usage", yaml.decode(contents, { name = where }))
  local list = type(tree) == "table" and tree.files or nil
  if type(list) ~= "table" or #list == 0 then bad(where, "it lists no inputs") end
  local read = {}
  for i, entry in ipairs(list) do read[i] = check(entry, where, i) end
  return read
end


return inputs
