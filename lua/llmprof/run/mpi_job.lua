-- Several processes of llmprof that a launcher (mpirun, srun) started as one job: which
-- they are, and the plugin of the MPI by which they talk.
--
--   local own = job.open()  -- nil: one process like any other
--   if own and own.rank == 0 then own.line:receive(1) end
local files = require "llmprof.io.files"
local cluster = require "llmprof.cluster"
local errors = require "llmprof.process.errors"

local job = {}

-- Names a plugin; "none": whatever started this, it is one process like any other.
job.VARIABLE = "LLMPROF_MPI"


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
function job.launcher(getenv)
  getenv = getenv or os.getenv
  if getenv(job.VARIABLE) == "none" then return nil end
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
  local given, first = os.getenv(job.VARIABLE), nil
  for _, mpi in ipairs(given and { "given" } or launcher.mpis) do
    local path, why = files.library(("libllmprof_mpi_%s.so"):format(mpi), given)
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
    job.VARIABLE)
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
function job.open()
  local launcher = job.launcher()
  if not launcher then return nil end
  local line, message, hint = connect(launcher)
  if not line and launcher.here > 0 then return nil, true end
  if not line then errors.raise("tool", message, { hint = hint }) end
  return { rank = line:rank(), size = line:size(), launcher = launcher.name, line = line }
end


return job
