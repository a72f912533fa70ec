-- The first process of a job asks all to do a step of what they do together, and has their
-- answers: llmprof.ranks.shares, over a line of llmprof.cluster.
local errors = require "llmprof.process.errors"
local json = require "llmprof.json"
local pack = require "llmprof.pack"
local shares = require "llmprof.ranks.shares"
local sorted_keys = require("llmprof.tables.keys").sorted

local asked = {}

-- The steps, in order; some come several times, or never. After the last there is none.
local STEPS = { kinds = true, number = true, rows_of_rank = true, fits = true, match = true }
local LAST = "match"

-- Asked when there is nothing more to do.
local NOTHING = "nothing"


local check = errors.check


-- What came from another process is no message of ours: it may be of another version.
function asked.refuse(process)
  errors.raise("failed", ("what process %d sent cannot be read"):format(process),
    { hint = "let all processes be of the same llmprof" })
end


-- ---- messages ----

-- A line of JSON, then the frames among the fields.
function asked.encode(name, fields)
  local plain, frames, bytes = {}, json.list {}, {}
  for _, key in ipairs(sorted_keys(fields)) do
    if type(fields[key]) == "userdata" then
      bytes[#bytes + 1] = pack.encode(fields[key])
      frames[#frames + 1] = { key, #bytes[#bytes] }
    else
      plain[key] = fields[key]
    end
  end
  return check(json.encode { name = name, fields = plain, frames = frames }) .. "\n"
    .. table.concat(bytes)
end


local function is_frame(entry)
  return type(entry) == "table" and type(entry[1]) == "string"
    and math.type(entry[2]) == "integer" and entry[2] >= 0
end


-- The name and the fields back.
function asked.decode(bytes, process)
  local line, at = bytes:match "^([^\n]*)\n()"
  local head = line and json.decode(line)
  if type(head) ~= "table" or type(head.name) ~= "string" or type(head.fields) ~= "table"
    or type(head.frames) ~= "table" then
    asked.refuse(process)
  end
  for _, entry in ipairs(head.frames) do
    local frame = is_frame(entry) and pack.decode(bytes:sub(at, at + entry[2] - 1))
    if not frame then asked.refuse(process) end
    head.fields[entry[1]], at = frame, at + entry[2]
  end
  return head.name, head.fields
end


-- ---- all with all ----

-- A function of frames by process, from 1, that gives those which all sent to this one, in order
-- of these; without frames nothing is sent. In every round each process has one other, of which
-- the lower one speaks first.
local function exchange(own, patience)
  local function speak(frames, peer)
    local frame = frames[peer + 1]
    check(own.line:send(peer, frame and pack.encode(frame) or "", patience))
    frames[peer + 1] = nil
  end
  local function hear(came, peer)
    local bytes = check(own.line:receive(peer, patience))
    local frame = bytes ~= "" and pack.decode(bytes) or nil
    if bytes ~= "" and not frame then asked.refuse(peer) end
    came[peer] = frame
  end
  return function(frames)
    local came, list = { [own.rank] = frames[own.rank + 1] }, {}
    for round = 0, own.size - 1 do
      local peer = (round - own.rank) % own.size
      if own.rank < peer then
        speak(frames, peer)
        hear(came, peer)
      elseif own.rank > peer then
        hear(came, peer)
        speak(frames, peer)
      end
    end
    for process = 0, own.size - 1 do list[#list + 1] = came[process] end
    return list
  end
end


-- ---- who asks, and who is asked ----

local function share_of(own, files, patience)
  return shares.new(files, exchange(own, patience), own.size)
end


-- In the first process: a function of a step's name and fields that gives the answers of all,
-- its own first; and one that tells all that there is nothing more to do. files: by number, the
-- collectives of its own files. An error of the line is raised with `broken` set in `own`.
function asked.asker(own, files, patience)
  local share, over = share_of(own, files, patience), false

  local function tell(name, fields)
    local bytes = asked.encode(name, fields)
    for process = 1, own.size - 1 do check(own.line:send(process, bytes, patience)) end
  end

  local function finish()
    over = true
    check(own.line:finish(patience))
  end

  local function ask(name, fields)
    own.broken = true
    tell(name, fields)
    local answers = { share[name](share, fields) }
    for process = 1, own.size - 1 do
      local _, answer = asked.decode(check(own.line:receive(process, patience)), process)
      answers[process + 1] = answer
    end
    if name == LAST then finish() end
    own.broken = false
    return answers
  end

  return ask, function()
    if over then return end
    tell(NOTHING, {})
    finish()
  end
end


-- In the others: do what is asked until nothing is. The first process may have to wait for each
-- of them, and is who says then which is silent.
function asked.answer(own, files, patience)
  local share, longer = share_of(own, files, patience), patience and patience * own.size
  local name, fields
  repeat
    name, fields = asked.decode(check(own.line:receive(0, longer)), 0)
    if STEPS[name] then
      check(own.line:send(0, asked.encode("answer", share[name](share, fields)), patience))
    elseif name ~= NOTHING then
      asked.refuse(0)
    end
  until name == LAST or name == NOTHING
  local done, message, code = own.line:finish(patience)
  -- where there is nothing to do the first process may have ended, and says why
  if name == LAST then check(done, message, code) end
end


return asked
