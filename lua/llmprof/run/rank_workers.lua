-- Files of ranks dealt to the processes of a job: each makes the parts of its own, which
-- come together in the first process along a tree, but for their collectives, which are matched
-- by all.
local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local pack = require "llmprof.pack"
local part = require "llmprof.ranks.part"
local process_pool = require "llmprof.process.pool"
local rank_files = require "llmprof.run.rank_files"
local partition = require "llmprof.ranks.partition"
local folders = require "llmprof.io.files"
local cluster = require "llmprof.cluster"
local sorted_keys = require("llmprof.tables.keys").sorted

local rank_workers = {}


-- ---- what the first process asks all to do ----

-- The first process of a job asks all to do a step of what they do together, and has their
-- answers: llmprof.ranks.partition, over a line of llmprof.cluster.

-- The steps, in order; some come several times, or never. After the last there is none.
local STEPS = { kinds = true, number = true, rows_of_rank = true, fits = true, match = true }
local LAST = "match"

-- Asked when there is nothing more to do.
local NOTHING = "nothing"


local check = errors.check


-- What came from another process is no message of ours: it may be of another version.
local function refuse(process)
  errors.raise("failed", ("what process %d sent cannot be read"):format(process),
    { hint = "let all processes be of the same llmprof" })
end


-- ---- messages ----

-- A line of JSON, then the frames among the fields.
local function encode_step(name, fields)
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
local function decode_step(bytes, process)
  local line, at = bytes:match "^([^\n]*)\n()"
  local head = line and json.decode(line)
  if type(head) ~= "table" or type(head.name) ~= "string" or type(head.fields) ~= "table"
    or type(head.frames) ~= "table" then
    refuse(process)
  end
  for _, entry in ipairs(head.frames) do
    local frame = is_frame(entry) and pack.decode(bytes:sub(at, at + entry[2] - 1))
    if not frame then refuse(process) end
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
    if bytes ~= "" and not frame then refuse(peer) end
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
  return partition.new(files, exchange(own, patience), own.size)
end


-- In the first process: a function of a step's name and fields that gives the answers of all,
-- its own first; and one that tells all that there is nothing more to do. files: by number, the
-- collectives of its own files. An error of the line is raised with `broken` set in `own`.
local function asker(own, files, patience)
  local share, over = share_of(own, files, patience), false

  local function tell(name, fields)
    local bytes = encode_step(name, fields)
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
      local _, answer = decode_step(check(own.line:receive(process, patience)), process)
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
local function answer(own, files, patience)
  local share, longer = share_of(own, files, patience), patience and patience * own.size
  local name, fields
  repeat
    name, fields = decode_step(check(own.line:receive(0, longer)), 0)
    if STEPS[name] then
      check(own.line:send(0, encode_step("answer", share[name](share, fields)), patience))
    elseif name ~= NOTHING then
      refuse(0)
    end
  until name == LAST or name == NOTHING
  local done, message, code = own.line:finish(patience)
  -- where there is nothing to do the first process may have ended, and says why
  if name == LAST then check(done, message, code) end
end


-- ---- files dealt to processes ----

-- ---- who does what ----

-- Who a process sends to, nil for the first; and who sends to it, in order. Numbers from 0.
function rank_workers.tree(rank, size)
  local from, step = {}, 1
  while step < size do
    if rank & step ~= 0 then return rank - step, from end
    if rank + step < size then from[#from + 1] = rank + step end
    step = step << 1
  end
  return nil, from
end


-- ---- messages ----


-- A list whose entries pass a test.
local function is_list_of(list, is_entry)
  if type(list) ~= "table" then return false end
  for key in pairs(list) do
    if not (math.type(key) == "integer" and key <= #list) then return false end
  end
  for _, entry in ipairs(list) do
    if not is_entry(entry) then return false end
  end
  return true
end


local function is_file(entry)
  return type(entry) == "table" and math.type(entry.number) == "integer"
    and type(entry.path) == "string" and not entry.path:find("\0", 1, true)
end


local function is_text(value) return type(value) == "string" end


local function is_read_file(entry)
  return is_file(entry)
    and (type(entry.why) == "string" or entry.why == nil and type(entry.mark) == "string"
      and math.type(entry.found) == "integer" and is_list_of(entry.without, is_text))
    and math.type(entry.size) == "integer" and entry.size >= 0
end


-- Files that were read as bytes: a line of JSON, then the parts.
local function encode(list)
  local head, bytes = json.list {}, {}
  for i, file in ipairs(list) do
    local packed = file.bytes or ""
    head[i] = { number = file.number, path = file.path, why = file.why, mark = file.mark,
      found = file.found, size = #packed, without = file.without and json.list(file.without) }
    bytes[i] = packed
  end
  return errors.check(json.encode(head)) .. "\n" .. table.concat(bytes)
end


-- The same back, parts still as bytes.
local function decode(bytes, process)
  local line, at = bytes:match "^([^\n]*)\n()"
  local list = line and json.decode(line)
  if not is_list_of(list, is_read_file) then refuse(process) end
  for i, head in ipairs(list) do
    local file = { number = head.number, path = head.path, why = head.why, mark = head.mark,
      found = head.found, without = head.without }
    if head.size > #bytes - at + 1 then refuse(process) end
    if not file.why then file.bytes = bytes:sub(at, at + head.size - 1) end
    at, list[i] = at + head.size, file
  end
  return list
end


-- The files that the first process has dealt to this one; nil when there is nothing to do.
local function decode_hand(bytes)
  local said = json.decode(bytes)
  local hand = type(said) == "table" and said.files
  if type(said) ~= "table" or (hand ~= nil and not is_list_of(hand, is_file)) then refuse(0) end
  return hand
end


-- Decode what came as bytes; lean: without collectives.
local function open_parts(list, lean)
  local decode_part = lean and part.decode_lean or part.decode
  for _, file in ipairs(list) do
    if file.bytes and not (file.made and (lean or file.made.collectives)) then
      file.made = errors.check(decode_part(file.bytes))
    end
    if file.made then file.made.number, file.made.found = file.number, file.found end
  end
  return list
end


-- Do some send to each other? These are told apart with all collectives in one place.
local function has_sends(list)
  for _, file in ipairs(list) do
    if file.made and file.made.busy then return true end
  end
  return false
end


-- ---- the job ----

local function size_of(path)
  local info = fs.stat(path)
  return info and info.size or 0
end


-- Which files each process has: list of lists of { number, path }; nil and the error when
-- there are none.
local function hands_of(own, list_files)
  local ok, files = errors.call(list_files)
  if not ok then return nil, files end
  local sizes = {}
  for i, path in ipairs(files) do sizes[i] = size_of(path) end
  local hands = process_pool.shards(sizes, own.size)
  for _, hand in ipairs(hands) do
    for i, number in ipairs(hand) do hand[i] = { number = number, path = files[number] } end
  end
  return hands
end


-- Tell each process which files are its own; returns those of this one, nil when there is
-- nothing to do, in the first process with the error.
local function deal_out(own, list_files, patience)
  if own.rank > 0 then
    return decode_hand(check(own.line:receive(0, patience)))
  end
  local hands, wrong = hands_of(own, list_files)
  for process = 2, own.size do
    check(own.line:send(process - 1, check(json.encode { files = hands and hands[process] }),
      patience))
  end
  return hands and hands[1], wrong
end


-- Read the files of this process; and by their numbers their collectives. Of those that are sent
-- on their bytes are enough.
local function read(hand, knowledge, is_first)
  local list, found = {}, {}
  for i, entry in ipairs(hand) do
    local file = rank_files.read(entry.path, knowledge)
    file.number = entry.number
    if file.made then
      found[file.number], file.found = file.made.collectives, #file.made.collectives
    end
    if not is_first then file.made = nil end
    list[i] = file
  end
  return list, found
end


-- All files in the first process; nil in the others.
local function gather(own, list, patience)
  local to, from = rank_workers.tree(own.rank, own.size)
  for _, process in ipairs(from) do
    local more = decode(check(own.line:receive(process, patience)), process)
    table.move(more, 1, #more, #list + 1, list)
  end
  if to then
    check(own.line:send(to, encode(list), patience))
    return nil
  end
  table.sort(list, function(a, b) return a.number < b.number end)
  return list
end


-- In the first process: what `use` makes of all files, or nil and the error that it raises.
local function use_all(own, list, found, patience, use)
  open_parts(list, true)
  local ask, finish = asker(own, found, patience)
  if has_sends(list) then
    finish()
    open_parts(list, false)
    ask = nil
  else
    for _, file in ipairs(list) do
      if file.made then file.made.collectives = nil end -- which the asker has
    end
  end
  local ok, result = errors.call(use, list, ask)
  if not ok and (own.broken or result.bug or errors.is_interrupt(result)) then error(result, 0) end
  finish()
  if ok then return result end
  return nil, result
end


-- All of it: in the first process what use(list, ask) returns, or nil and the error that it or
-- list_files raises; nil in the others. list: every file as rank_files.read has it, but for their
-- collectives, where there is an ask (of llmprof.ranks); list_files is called in the first process
-- alone. patience: how long one process may wait for another, s; nil: for ever.
function rank_workers.run(own, list_files, knowledge, patience, use)
  local hand, wrong = deal_out(own, list_files, patience)
  if not hand then
    own.line:finish(patience) -- whether that works or not, the first process says what is wrong
    return nil, wrong
  end
  local list, found = read(hand, knowledge, own.rank == 0)
  list = gather(own, list, patience)
  if list then return use_all(own, list, found, patience, use) end
  answer(own, found, patience)
  return nil
end


-- ---- the job ----

-- Several processes of llmprof that a launcher (mpirun, srun) started as one job: which
-- they are, and the plugin of the MPI by which they talk.
--
--   local own = rank_workers.job()  -- nil: one process like any other
--   if own and own.rank == 0 then own.line:receive(1) end

-- Names a plugin; "none": whatever started this, it is one process like any other.
rank_workers.VARIABLE = "LLMPROF_MPI"


-- ---- the launcher ----

-- What a launcher tells each of its processes: variables of how many there are and which
-- this is, among all and on its machine, and the MPIs whose launcher it can be, the
-- likeliest first. Of several that are set the first counts: srun starts Open MPI's own
-- daemons, which start us.
local LAUNCHERS = {
  { name = "mpirun", size = "OMPI_COMM_WORLD_SIZE", rank = "OMPI_COMM_WORLD_RANK",
    here = "OMPI_COMM_WORLD_LOCAL_RANK", mpis = { "openmpi" } },
  { name = "srun", size = "SLURM_STEP_NUM_TASKS", rank = "SLURM_PROCID",
    here = "SLURM_LOCALID", mpis = { "openmpi", "mpich" } },
  { name = "mpiexec", size = "PMI_SIZE", rank = "PMI_RANK", here = "MPI_LOCALRANKID",
    mpis = { "mpich" } },
}

local function number(getenv, name)
  local value = getenv(name)
  return value and math.tointeger(tonumber(value))
end


-- { name, size, rank, here (its number on this machine), mpis } of the launcher that
-- started this as one of several; nil when none did. getenv: os.getenv unless given.
function rank_workers.launcher(getenv)
  getenv = getenv or os.getenv
  if getenv(rank_workers.VARIABLE) == "none" then return nil end
  for _, known in ipairs(LAUNCHERS) do
    local size, rank = number(getenv, known.size), number(getenv, known.rank)
    if size and rank then
      return size > 1 and { name = known.name, size = size, rank = rank, mpis = known.mpis,
        here = number(getenv, known.here) or rank } or nil
    end
  end
  return nil
end


-- ---- the plugin ----

-- The path of the plugin for a launcher, or nil and what was looked for.
local function plugin_of(launcher)
  local given, first = os.getenv(rank_workers.VARIABLE), nil
  for _, mpi in ipairs(given and { "given" } or launcher.mpis) do
    local path, why = folders.library(("libllmprof_mpi_%s.so"):format(mpi), given)
    if path then return path end
    first = first or why
  end
  return nil, first
end


local MAKE = "llmprof help cluster says how it is made; --shard and --merge do without it"

-- What is to be done where MPI does not know of the launcher's other processes.
local function other_hint(launcher)
  if launcher.name == "srun" then
    return "srun --mpi=pmix joins them, or another of srun --mpi=list"
  end
  return ("another MPI's %s: %s=PATH names the plugin of that one"):format(launcher.name,
    rank_workers.VARIABLE)
end


local UNJOINED = "srun started %d processes and did not join them by MPI"

-- Did srun tell its processes of each other? MPIs that find nothing say so at length.
local function is_joined(launcher)
  return launcher.name ~= "srun" or os.getenv "PMIX_RANK" or os.getenv "PMI_RANK"
end


-- Connect; nil, what is wrong and what to do.
local function connect(launcher)
  if not is_joined(launcher) then
    return nil, UNJOINED:format(launcher.size), other_hint(launcher)
  end
  local path, why = plugin_of(launcher)
  if not path then
    return nil, ("%s started %d processes, which only MPI makes one job: %s"):format(
      launcher.name, launcher.size, why), MAKE
  end
  local line, message = cluster.open(path)
  if not line then return nil, message, MAKE end
  if line:size() ~= launcher.size then
    return nil, ("%s started %d processes, but %s in %s knows of %d"):format(launcher.name,
      launcher.size, line:library(), path, line:size()), other_hint(launcher)
  end
  return line
end


-- The job that this process is of: { rank, size, launcher, line (of llmprof.cluster) }; nil
-- when it is of none. What is wrong is raised in one process of each machine; the others
-- get nil, true.
function rank_workers.job()
  local launcher = rank_workers.launcher()
  if not launcher then return nil end
  local line, message, hint = connect(launcher)
  if not line and launcher.here > 0 then return nil, true end
  if not line then errors.raise("tool", message, { hint = hint }) end
  return { rank = line:rank(), size = line:size(), launcher = launcher.name, line = line }
end


return rank_workers
