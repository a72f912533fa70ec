-- Programs that a recipe brings as CUDA source: compiled with nvcc when a run first
-- needs them, and kept in the cache, by source and by GPU.
local digest = require "llmprof.digest"
local errors = require "llmprof.process.errors"
local files = require "llmprof.io.files"
local fs = require "llmprof.fs"
local gpu = require "llmprof.gpu"
local tools = require "llmprof.nvidia.tools"

local compiled = {}

local NVCC = { name = "nvcc", places = {} }

-- Compiling that takes longer hangs, in seconds.
local PATIENCE = 600


-- What nvcc is to compile for: the GPUs of the machine, else all major ones.
local function architecture()
  local devices = gpu.list() or {}
  local compute = devices[1] and devices[1].compute_capability
  return compute and "sm_" .. compute:gsub("%.", "") or "all-major"
end


local function hexadecimal(bytes)
  return (bytes:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end


local function read(source)
  local text, where = files.read_path(source)
  if not text then errors.raise("usage", where) end
  return text
end


-- Where the program of a source is, or will be, on this machine.
function compiled.path(source)
  local stem = source:match "([^/]+)%.[^./]+$" or source:match "[^/]+$"
  local key = hexadecimal(digest.sha256(read(source) .. "\0" .. architecture())):sub(1, 16)
  return ("%s/programs/%s-%s"):format(files.folder "cache" or "/nonexistent", stem, key)
end


local function find_nvcc()
  for _, path in ipairs(tools.places(NVCC)) do
    if fs.access(path, "x") then return path end
  end
  return nil
end


compiled.NO_NVCC = "install the CUDA Toolkit, or put its nvcc on PATH; a program compiled "
  .. "elsewhere is named by the recipe's option"


function compiled.lack(source)
  return ("%s is CUDA source, and there is no nvcc to compile it"):format(source)
end


-- Whether the program of a source is "there", or can be compiled ("source"); nil
-- without nvcc.
function compiled.state(source)
  return fs.access(compiled.path(source), "x") and "there" or find_nvcc() and "source" or nil
end


-- Under a name of its own first: two runs may compile at once.
local function compile(nvcc, source, program)
  local folder = assert(fs.temp_dir "llmprof-nvcc")
  local text, made = folder .. "/" .. source:match "[^/]+$", folder .. "/program"
  errors.check(fs.write(text, read(source)))
  local output, result = tools.capture({ nvcc, "-O2", "-std=c++17", "-arch=" .. architecture(),
    "-o", made, text }, { timeout = PATIENCE })
  local done = output and result.ok
    and errors.check(fs.mkdirs(program:match "^(.*)/"))
    and errors.check(fs.copy(made, program))
  fs.remove_tree(folder)
  if not done then
    errors.raise("failed", "nvcc cannot compile " .. source,
      { detail = output or result, hint = "is the toolkit whole, and as new as the driver?" })
  end
end


-- The compiled program of a source (a file on disk or built in): its path. Raises
-- without nvcc, and with its words when it fails.
function compiled.make(source)
  local program = compiled.path(source)
  if fs.access(program, "x") then return program end
  local nvcc = find_nvcc()
  if not nvcc then errors.raise("tool", compiled.lack(source), { hint = compiled.NO_NVCC }) end
  compile(nvcc, source, program)
  return program
end


return compiled
