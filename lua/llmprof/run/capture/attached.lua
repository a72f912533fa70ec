-- Engines that somebody else started under nsys: a timeline, and nothing that would need
-- the engine to be run again.
local live = require "llmprof.run.capture.live"
local under_ncu = require "llmprof.run.capture.under_ncu"
local under_session = require "llmprof.run.capture.under_session"

local attached = live.new(under_session, under_ncu)

local WHY = "server.session: the engine is not ours to run again"


function attached.counters() return false, WHY end
function attached.operators() return false, WHY end


local preview = attached.preview

function attached.preview(ctx)
  return { timeline = preview(ctx).timeline }
end


attached.wanted = under_session.wanted

return attached
