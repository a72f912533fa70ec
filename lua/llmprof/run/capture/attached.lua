-- Engines that somebody else started, under nsys or with our collector inside: a timeline,
-- and nothing that would need the engine to be run again.
local live = require "llmprof.run.capture.live"
local under_ncu = require "llmprof.run.capture.under_ncu"
local under_session = require "llmprof.run.capture.under_session"
local under_spools = require "llmprof.run.capture.under_spools"


local function new(timeline, key)
  local source = live.new(timeline, under_ncu)
  local why, preview = key .. ": the engine is not ours to run again", source.preview

  function source.counters() return false, why end
  function source.operators() return false, why end
  function source.preview(ctx) return { timeline = preview(ctx).timeline } end

  source.wanted = timeline.wanted
  return source
end


return { session = new(under_session, "server.session"),
  spools = new(under_spools, "server.spools") }
