-- Steps whose work is done in another process while later ones run in this: see pipeline's
-- work(ctx). They are seen through here, in their order, when a later step reads what they
-- give, and the others at the end.
local fs = require "llmprof.fs"
local layout = require "llmprof.bundle.layout"
local process_pool = require "llmprof.process.pool"

local background = {}

-- Bytes of a timeline below which a process costs more than it saves. Tests change this.
background.LEAST = 64 << 20

-- Memory that looking at a timeline twice at once takes, of each look, as a multiple of its size.
local WEIGHT = 1.25

local Others = {}
Others.__index = Others


-- May some of a run's work be done beside it?
function background.is_worth(ctx)
  local info = fs.stat(ctx.run:path(layout.timeline))
  return info ~= nil and info.size >= background.LEAST
    and process_pool.count(2, WEIGHT * info.size) == 2
end


-- Nothing yet.
function background.new()
  return setmetatable({ steps = {}, waiting = {} }, Others)
end


-- Begin with these steps. work(step) is called there, and its value is handed to
-- see_through(step, value) here; nil: it came to nothing, and is to be done here.
function Others:begin(steps, work, see_through)
  local works = {}
  for i, step in ipairs(steps) do
    works[i] = function() return work(step) end
    self.steps[i], self.waiting[step.name] = step, true
  end
  self.see_through, self.pool = see_through, process_pool.begin { works }
end


-- Was it begun?
function Others:has_begun() return self.pool ~= nil end


-- Is the step among those that are not seen through yet?
function Others:has(name) return self.waiting[name] == true end


local function settle_next(self)
  local step = table.remove(self.steps, 1)
  self.waiting[step.name] = nil
  local ok, value = self.pool:take(1)
  self.see_through(step, ok and value or nil)
end


-- See through the step of this name and those before it, if it is among them.
function Others:await(name)
  while self.waiting[name] do settle_next(self) end
end


-- See through what is left.
function Others:settle()
  while self.steps[1] do settle_next(self) end
end


-- Call f; once more when memory does not hold what it does beside the others.
function Others:call(f)
  if self.pool then return self.pool:call(f) end
  return f()
end


-- End what still runs. What is not seen through yet never is.
function Others:close()
  if self.pool then self.pool:close() end
  self.steps, self.waiting = {}, {}
end


Others.__close = Others.close


return background
