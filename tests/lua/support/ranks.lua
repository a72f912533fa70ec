-- Captures of several ranks, and what llmprof.ranks says of them, for specs.
local hardware = require "llmprof.model.hardware"
local pack = require "llmprof.pack"
local rank_view = require "llmprof.analysis.serving.ranks"
local rank_files = require "llmprof.run.rank_files"
local ranks = require "llmprof.ranks"

local support = {}

support.VLLM = "tests/fixtures/recorded/vllm_serve/run.sqlite"
support.FOUR = "tests/fixtures/ranks4"


function support.four()
  return rank_files.list({ support.FOUR }, rank_files.traces)
end


-- The parts of files, and lines about those left out.
function support.parts(files)
  local left_out = {}
  return rank_files.parts(files, rank_view.knowledge(), left_out), left_out
end


-- The record of parts, and the frames that it was made of.
function support.examine(parts, metrics)
  return ranks.examine(parts, { metrics = metrics, link = hardware.link })
end


local times = { steps = { "start", "end", "launched", "before", "first", "last", "begin" },
  collectives = { "start", "end", "api_start", "previous" } }

-- The same part as a clock would have seen it that is `offset` ns ahead and gains
-- `drift` ns per ns.
function support.shifted(part, offset, drift)
  local made = { about = part.about, kernels = part.kernels }
  for name, columns in pairs(times) do
    made[name] = assert(pack.join({ part[name] }, { { offset = -offset, drift = -drift, at = 0 } },
      columns))
  end
  return made
end


return support
