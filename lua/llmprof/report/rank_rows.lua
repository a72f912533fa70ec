-- Rows of the tables about ranks, steps and requests.
local rank_rows = {}


-- Stages of a pipeline, with their ranks as a text.
function rank_rows.pipeline(results)
  local list = {}
  for i, stage in ipairs(results.ranks and results.ranks.pipeline
    and results.ranks.pipeline.stages or {}) do
    list[i] = setmetatable({ who = table.concat(stage.ranks, ", ") }, { __index = stage })
  end
  return list
end


local function number_of(own) return own.rank and tostring(own.rank) end


-- A stage over all ranks, then of each, behind the list.
local function add_stage(list, group)
  local one, who = #group.ranks == 1, "all"
  if one then who = number_of(group.ranks[1]) end
  list[#list + 1] = setmetatable({ who = who }, { __index = group })
  for _, own in ipairs(one and {} or group.ranks) do
    list[#list + 1] = setmetatable({ phase = group.phase, who = number_of(own) },
      { __index = own })
  end
end


-- Stages over all ranks, then of each; without steps that ran nothing.
function rank_rows.stages(results)
  local list = {}
  for _, group in ipairs(results.ranks and results.ranks.stages or {}) do
    if group.mean_ns then add_stage(list, group) end
  end
  return list
end


-- How the kernels of steps were launched, as far as CUDA graphs go.
local function launched(group)
  if not group.graphed or not group.kernels or group.kernels == 0 then return nil end
  local share = group.graphed / group.kernels
  if share == 0 then return "eager" end
  return share > 0.5 and "graph" or "partly graph"
end


local function transfers_of(results)
  return results.ranks and results.ranks.kv_transfers or {}
end


-- Steps by phase, batch and tokens; last the KV caches between ranks.
function rank_rows.steps(results)
  local list = {}
  for i, group in ipairs(results.ranks and results.ranks.steps or {}) do
    list[i] = setmetatable({ how = launched(group) }, { __index = group })
  end
  local between = transfers_of(results).times
  if between then
    list[#list + 1] = setmetatable({ phase = "KV transfer" }, { __index = between })
  end
  return list
end


-- The same, request by request.
function rank_rows.kv_transfers(results) return transfers_of(results).single or {} end


local seen_by_clients = { { "ttft", "TTFT" }, { "tpot", "TPOT" },
  { "between_tokens", "between tokens" } }

local function requests_of(results) return results.ranks and results.ranks.requests or {} end

function rank_rows.requests(results)
  local made, list = requests_of(results), {}
  for _, entry in ipairs(seen_by_clients) do
    local measured, label = made[entry[1]], entry[2]
    if measured then
      if entry[1] == "between_tokens" and made.averaged then
        label = label .. ", mean of a round's requests"
      end
      list[#list + 1] = setmetatable({ label = label }, { __index = measured })
    end
  end
  return list
end


-- Single requests, where they say when they were sent.
function rank_rows.request_rows(results)
  return requests_of(results).single or {}
end


-- The engine's own numbers beside the steps.
function rank_rows.engine_looks(results)
  local list = {}
  for i, look in ipairs(results.ranks and results.ranks.engine_looks or {}) do
    list[i] = setmetatable({ kv_percent = look.kv_use and 100 * look.kv_use }, { __index = look })
  end
  return list
end


function rank_rows.left_out(results)
  local list = {}
  for i, line in ipairs(results.ranks and results.ranks.left_out or {}) do
    list[i] = { text = line }
  end
  return list
end


return rank_rows
