-- Collectives of a trace: one row for each kernel of one, with what its rank did
-- before it. They are matched with those of other ranks by llmprof.ranks.merged.
local collectives = require "llmprof.collectives"
local rows = require "llmprof.ranks.rows"
local spans = require "llmprof.spans"

local found = {}

local COMPUTE, COMMUNICATION = 0, 1


-- What the name of a kernel says: op ("all-reduce"), algorithm, protocol, type, and
-- whose it is.
local operations = {
  { "reduce_?scatter", "reduce-scatter" }, { "all_?reduce", "all-reduce" },
  { "cross_device_reduce", "all-reduce" }, { "all_?gather", "all-gather" },
  { "all_?to_?all", "all-to-all" }, { "moea2a", "all-to-all" }, { "dispatch", "dispatch" },
  { "combine", "combine" }, { "broadcast", "broadcast" }, { "send_?recv", "send-receive" },
  { "reduce", "reduce" },
}

local libraries = {
  { "^nccl", "NCCL" }, { "cross_device_reduce", "custom all-reduce" }, { "deep_?ep", "DeepEP" },
  { "quickreduce", "quick all-reduce" }, { "symmetric_memory", "symmetric memory" },
  { "nvshmem", "NVSHMEM" },
}

local function first_of(list, text)
  for _, entry in ipairs(list) do
    if text:find(entry[1]) then return entry[2] end
  end
  return nil
end


local algorithms = { "RING", "TREE", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS_TREE", "NVLS", "PAT" }
local protocols = { "LL128", "LL", "SIMPLE" }

local function named(list, short)
  for _, word in ipairs(list) do
    if short:find("_" .. word .. "%f[_%z]") or short:find("_" .. word .. "$") then return word end
  end
  return nil
end


-- { op, library, algorithm, protocol }, as far as a kernel's names tell.
function found.describe(name, short)
  local lower = name:lower()
  local about = { op = first_of(operations, (short or name):lower()) or "other",
    library = first_of(libraries, lower) or "other" }
  if about.library == "NCCL" then
    about.algorithm, about.protocol = named(algorithms, short or name), named(protocols, short
      or name)
  end
  return about
end


-- The rows of a trace's collectives: kernels, with rank, work and step, that are some.
-- Adds ordinal, previous, before, signature, and how much of the row and of the time
-- before it computing kernels of the rank covered: hidden, work_before.
function found.of_kernels(kernels, list)
  local computing = rows.check(kernels:where { work = COMPUTE, { "rank", "~=", false } })
  local made = rows.check(kernels:where { work = COMMUNICATION, { "rank", "~=", false } })
  local at = { rank = "rank", start = "start", ["end"] = "end", key = "short_name" }
  rows.check(collectives.before(made, at, computing,
    { rank = "rank", start = "start", name = "short_name" }))
  local sets = {}
  for _, member in ipairs(list) do
    sets[member.rank + 1] = rows.check(computing:where { rank = member.rank }):union()
  end
  rows.check(spans.cover(made, { start = "start", ["end"] = "end", key = "rank" }, sets,
    "hidden"))
  rows.check(spans.cover(made, { start = "previous", ["end"] = "start", key = "rank" }, sets,
    "work_before"))
  return made
end


-- Add `place`: which of its step's collectives a row is, from 0.
function found.place(made)
  rows.check(collectives.number(made, { rank = "rank", start = "start", ["end"] = "end",
    key = "step" }, "place"))
  return made
end


-- Columns that a part keeps, in this order.
found.kept = { "rank", "step", "phase", "turn", "place", "name", "short_name", "stream",
  "communicator", "message", "start", "end", "duration", "api_start", "previous", "before",
  "signature", "hidden", "work_before" }

-- Those of them that are times on the trace's clock.
found.times = { "start", "end", "api_start", "previous" }


return found
