-- Is a timeline fit to be analysed? Every event has what events have, none ends
-- before it starts, and no sum or difference of times leaves 64 bits: what comes
-- after this asks no more.
local errors = require "llmprof.process.errors"
local text = require "llmprof.text"

local complete = {}

-- Columns that every event of a frame has; where one lacks it, the file is damaged.
local needed = {
  { "gpu", { "duration", "start" } }, { "api", { "duration", "start" } },
  { "ranges", { "duration", "start" } }, { "transfers", { "bytes" } },
}

-- Columns of kernels that are all there or all absent: graphs of other makers' GPUs are
-- recorded without.
local SHAPE = { "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z" }

-- Frames with times. Their starts are no further from 0 than this, in ns (36 years):
-- differences and sums of two fit into 64 bits.
local TIMED = { "gpu", "api", "ranges" }
local FAR = 1 << 60


local check = errors.check


local function damaged(trace, form, ...)
  errors.raise("failed", trace:info().path .. ": " .. form:format(...),
    { hint = "copy or export it again" })
end


-- Raises when rows of the frame meet the conditions. what: what they then do.
local function refuse(trace, frame, name, conditions, what)
  local count = #check(frame:where(conditions))
  if count == 0 then return end
  damaged(trace, "%s of %s rows of '%s' %s", text.count(count), text.count(#frame), name, what)
end


local function check_columns(trace)
  for _, of in ipairs(needed) do
    local frame = check(trace:frame(of[1]))
    for _, column in ipairs(of[2]) do
      refuse(trace, frame, of[1], { { column, "==", false } }, "have no usable " .. column)
    end
  end
  local kernels = check(trace:frame "kernels")
  for i, column in ipairs(SHAPE) do
    refuse(trace, kernels, "kernels", { { column, "==", false },
      { SHAPE[i % #SHAPE + 1], "~=", false } }, "have no usable " .. column)
  end
end


local function check_times(trace, name)
  local frame = check(trace:frame(name))
  refuse(trace, frame, name, { { "duration", "<", 0 } }, "end before they start")
  refuse(trace, frame, name, { { "start", "<", -FAR } }, "start impossibly early")
  refuse(trace, frame, name, { { "end", ">", FAR } }, "end impossibly late")
  local long = math.maxinteger // math.max(#frame, 1)
  if #check(frame:where { { "duration", ">", long } }) == 0 then return end
  local added, why = pcall(frame.group, frame, { sum = { "duration" } })
  if added then return end
  if not (errors.is(why) and why.code == "range") then error(why, 0) end
  damaged(trace, "the durations of '%s' add up to more than 292 years", name)
end


-- Raises what is wrong with a trace.
function complete.check(trace)
  check_columns(trace)
  for _, name in ipairs(TIMED) do check_times(trace, name) end
end


return complete
