-- What the scripts of this folder share: values out of the bytes of an input, and what
-- no input may do.
local cli = require "llmprof.cli"
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local hardware = require "llmprof.model.hardware"
local json = require "llmprof.json"
local out = require "llmprof.io.output"
local sorted_keys = require("llmprof.tables.keys").sorted
local given = {}

-- Files that are built in are read once.
local find, gpus = hardware.find, {}

function hardware.find(name)
  if name and gpus[name] == nil then gpus[name] = find(name) or false end
  return name and gpus[name] or nil
end


-- ---- values ----

local Input = {}
Input.__index = Input


-- Values are taken one after the other; zeros when it has ended.
function given.input(bytes)
  return setmetatable({ bytes = bytes, at = 1 }, Input)
end


function Input:byte()
  local byte = self.bytes:byte(self.at) or 0
  self.at = self.at + 1
  return byte
end


function Input:is_empty()
  return self.at > #self.bytes
end


function Input:pick(list)
  return list[self:byte() % #list + 1]
end


function Input:rest()
  local rest = self.bytes:sub(self.at)
  self.at = #self.bytes + 1
  return rest
end


-- ---- changed documents ----

-- What a stranger may write in any place of a document.
local VALUES = {
  -1, 0, 1, 2, 0.5, -0.5, 1e308, -1e308, 1e-320, 2 ^ 53, math.maxinteger, math.mininteger,
  4294967296, true, false, json.null, "", "decode", "prefill", "<script>alert(1)</script>",
  "=cmd|x", "a|b`c", "\27]0;x\7", "\u{202e}x", ("x"):rep(5000), "../../etc/passwd", "\n# h\n```",
  "%s%n%d", "2026-01-01", "k<int>(T1 *)", "\255\254",
}


-- A place in a value: the table that it is in, and its key there; nil in an empty one.
local function place_in(value, input)
  local keys = sorted_keys(value)
  if #keys == 0 then return nil end
  local key = keys[(input:byte() * 256 + input:byte()) % #keys + 1]
  local inside = value[key]
  if type(inside) ~= "table" or next(inside) == nil or input:byte() % 4 == 0 then
    return value, key
  end
  return place_in(inside, input)
end


local changes = {
  function(at, key, input) at[key] = input:pick(VALUES) end,
  function(at, key, input) at[key] = input:pick(VALUES) end,
  function(at, key)
    if math.type(key) == "integer" then table.remove(at, key) else at[key] = nil end
  end,
  function(at, key)
    if math.type(key) == "integer" then
      table.insert(at, key, at[key])
    else
      at[key] = { at[key] }
    end
  end,
  function(at, key) at[key] = json.list {} end,
  function(at, key, input) at[key] = -(tonumber(at[key]) or input:byte()) end,
  function(at, key, input)
    local keys = sorted_keys(at)
    at[key] = at[keys[input:byte() % #keys + 1]]
  end,
}


local MOST = 8 -- changes of one document


-- Change a value of JSON as the input says.
function given.change(value, input)
  for _ = 1, MOST do
    if input:is_empty() then return end
    local at, key = place_in(value, input)
    if at then input:pick(changes)(at, key, input) end
  end
end


-- A copy of bytes in which each three of the input's are a place, low byte first, and
-- what to put there.
function given.patch(bytes, input)
  local list = { bytes:byte(1, -1) }
  while not input:is_empty() do
    local place = input:byte() + input:byte() * 256
    list[place % #list + 1] = input:byte()
  end
  return (string.char(table.unpack(list)))
end


-- ---- files ----

-- A folder of this process, removed at its end.
function given.folder()
  local path, lock = fs.private_dir(os.getenv "TMPDIR" or "/tmp")
  assert(path, lock)
  given.owned = setmetatable({ lock = lock }, { __gc = function() fs.remove_tree(path) end })
  return path
end


function given.read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end


function given.write(path, contents)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(contents))
end


-- ---- short results ----

local KEPT = 4 -- kernels of results that each call reads whole


-- Does an object of results point at a kernel that is left out?
local function is_gone(value)
  return type(value) == "table" and (value.kernel or 0) > KEPT
end


-- The bytes of results with fewer kernels, and nothing that points at others.
function given.few_kernels(bytes)
  local results = json.decode(bytes)
  local function visit(value)
    for key, item in pairs(value) do
      local kept = json.list {}
      if key == "kernels" and type(item) == "table" and type(item[1]) == "number" then
        for _, id in ipairs(item) do kept[#kept + 1] = id <= KEPT and id or nil end
        value[key] = kept
      elseif type(item) == "table" then
        visit(item)
        for _, inside in ipairs(item) do
          if not is_gone(inside) then kept[#kept + 1] = inside end
        end
        if #item > 0 then value[key] = kept end
      end
    end
  end
  visit(results)
  results.kernels = json.list(table.move(results.kernels, 1, KEPT, 1, {}))
  return json.encode(results)
end


-- ---- what no input may do ----

local function described(value)
  if errors.is(value) and not value.bug then return value end
  return debug.traceback(errors.is(value) and value.message or tostring(value), 2)
end


-- f(...), or nil and the error where it raised one of llmprof's; any other ends all.
function given.try(f, ...)
  local results = table.pack(xpcall(f, described, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  if not errors.is(results[2]) then error(results[2], 0) end
  assert(results[2].message ~= "", "an error without a message")
  return nil, results[2]
end


-- What a terminal acts on: control characters, and turns of the direction of writing.
local acted_on = { "[\0-\8\11-\31\127]", "\xc2[\x80-\x9f]", "\xe2\x80[\xaa-\xae]",
  "\xe2\x81[\xa6-\xa9]" }


function given.check_shown(said)
  for _, pattern in ipairs(acted_on) do
    local found = said:find(pattern)
    if found then error(("a terminal acts on %q"):format(said:sub(math.max(found - 40, 1),
      found + 40)), 2) end
  end
end


local printed = {}


local function keep(...)
  for _, piece in ipairs { ... } do printed[#printed + 1] = out.bytes(piece) end
end


-- A command of llmprof, in this process: its exit status and what it printed.
function given.command(...)
  local write, warn = out.write, out.warn
  printed, out.write, out.warn = {}, keep, keep
  local status = cli.main { ... }
  out.write, out.warn = write, warn
  local said = table.concat(printed)
  if said:find("this is a bug in llmprof", 1, true) then error(said, 0) end
  given.check_shown(said)
  assert(status >= 0 and status <= 5, said)
  assert(status == 0 or said ~= "", "a failure without a line")
  return status, said
end


return given
