-- Files that hold the same, found before they are read: by a link, or by size and a sample and
-- then byte by byte.
local digest = require "llmprof.digest"
local fs = require "llmprof.fs"

local alike = {}

-- Of a file so many pieces are its sample, of so many bytes.
local PIECES, PIECE = 16, 4096

-- Files with one sample that a further one is held against.
local MOST = 4


-- Bytes from all over a file of that size; nil where it cannot be read.
local function sample_of(path, size)
  local file = io.open(path, "rb")
  if not file then return nil end
  local list = {}
  for i = 0, PIECES - 1 do
    list[#list + 1] = file:seek("set", size // PIECES * i) and file:read(PIECE) or ""
  end
  file:close()
  return table.concat(list)
end


-- What is the same of files that hold the same.
local function key_of(path)
  local info = fs.stat(path)
  if not info or info.type ~= "file" then return nil end
  local sample = sample_of(path, info.size)
  return sample and ("%d %s"):format(info.size, digest.base64(digest.sha256(sample)))
end


-- Of those of the same sample, one that holds the same.
local function same_among(others, files, path)
  for _, other in ipairs(others) do
    if fs.same(files[other], path) then return other end
  end
  return nil
end


-- The number of an earlier file that holds the same, for those that have such. Of files with
-- one sample that do not hold the same only a few are looked at.
function alike.find(files)
  local first, by_key = {}, {}
  for number, path in ipairs(files) do
    local key = key_of(path)
    local others = key and by_key[key] or {}
    first[number] = same_among(others, files, path)
    if key and not first[number] and #others < MOST then others[#others + 1] = number end
    if key then by_key[key] = others end
  end
  return first
end


return alike
