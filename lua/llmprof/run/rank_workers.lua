-- Files of ranks dealt to the processes of a job: each makes the parts of its own, which
-- come together in the first process along a tree.
local errors = require "llmprof.process.errors"
local lists = require "llmprof.tables.lists"
local part = require "llmprof.ranks.part"
local process_pool = require "llmprof.process.pool"
local rank_files = require "llmprof.run.rank_files"
local folders = require "llmprof.io.files"
local cluster = require "llmprof.cluster"
local version = require "llmprof.version"

local rank_workers = {}

local check = errors.check


-- ---- messages ----

local function send(own, to, what, patience)
  check(own.line:send(to, process_pool.pack { llmprof = version.version, what = what }, patience))
end


-- What another process sent. One of another llmprof is refused.
local function receive(own, from, patience)
  local bytes = check(own.line:receive(from, patience))
  local ok, message = errors.call(process_pool.unpack, bytes)
  if not ok and not message.bug then error(message, 0) end -- memory ran out, or a signal came
  if not ok or type(message) ~= "table" or message.llmprof ~= version.version then
    errors.raise("failed", ("what process %d sent cannot be read"):format(from),
      { hint = "start the same llmprof in all processes" })
  end
  return message.what
end


-- ---- files dealt to processes ----

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


-- Tell each process which files are its own, a list of { number, path }; returns those of this one,
-- nil when there is nothing to do, in the first process with the error.
local function deal_out(own, list_files, patience)
  if own.rank > 0 then return receive(own, 0, patience) end
  local ok, files = errors.call(list_files)
  local hands = ok and process_pool.shards(process_pool.sizes(files), own.size) or {}
  for _, hand in ipairs(hands) do
    for i, number in ipairs(hand) do hand[i] = { number = number, path = files[number] } end
  end
  for process = 2, own.size do send(own, process - 1, hands[process], patience) end
  return hands[1], not ok and files or nil
end


-- The files of this process, read. Of those that are sent on their bytes are enough.
local function read(hand, knowledge, is_first)
  local list = {}
  for i, entry in ipairs(hand) do
    local file = rank_files.read(entry.path, knowledge)
    file.number = entry.number
    if not is_first then file.made = nil end
    list[i] = file
  end
  return list
end


-- All files in the first process, in order; nil in the others.
local function gather(own, list, patience)
  local to, from = rank_workers.tree(own.rank, own.size)
  for level, process in ipairs(from) do
    -- it may have to wait for level - 1 others first, and is who says which is silent
    lists.add(list, receive(own, process, patience and patience * level))
  end
  if to then return send(own, to, list, patience) end
  for _, file in ipairs(list) do
    if file.bytes and not file.made then file.made = check(part.decode(file.bytes)) end
  end
  table.sort(list, lists.by "number")
  return list
end


-- All of it: in the first process the list of every file as rank_files.read has it, or nil and the
-- error that list_files raises, which is called there alone; nil in the others. patience: how long
-- one process may wait for another, s; nil: for ever.
function rank_workers.run(own, list_files, knowledge, patience)
  local hand, wrong = deal_out(own, list_files, patience)
  if not hand then
    own.line:finish(patience) -- whether that works or not, the first process says what is wrong
    return nil, wrong
  end
  local list = gather(own, read(hand, knowledge, own.rank == 0), patience)
  -- the first process may have to wait for each of the others, and is who says which is silent
  check(own.line:finish(patience and patience * own.size))
  return list
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

-- Connect; nil, what is wrong and what to do.
local function connect(launcher)
  -- did srun tell its processes of each other? MPIs that find nothing say so at length
  if launcher.name == "srun" and not (os.getenv "PMIX_RANK" or os.getenv "PMI_RANK") then
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
