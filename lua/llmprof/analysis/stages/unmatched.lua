-- Ranges of a trace that are no stage of the recipe, where one of its stages is missing: which
-- hold the GPU's time, and which may be meant.
local errors = require "llmprof.process.errors"
local nearest = require "llmprof.tables.suggest"
local text = require "llmprof.text"

local unmatched = {}

-- Tags that are looked at, the longest first; those told; and what is worth telling, as a
-- share of the GPU time.
local LOOKED_AT, MOST, WORTH = 16, 4, 0.01

-- The fewest letters that a tag and a name share at their beginning to be alike.
local LEAST_LETTERS = 3


local check = errors.check


-- Tags of ranges that are no stage, the longest in all first.
local function tags_of(trace, declared)
  local known, list = {}, {}
  for _, stage in ipairs(declared) do
    for _, tag in ipairs(stage.tags or { stage.name }) do known[tag] = true end
    if stage.step then known[stage.step] = true end
  end
  for _, row in ipairs(check(trace:frame "ranges"):group { by = { "tag" },
    total = { "duration" } }) do
    if row.tag and not known[row.tag] then
      list[#list + 1] = { tag = row.tag, ns = row.duration.total }
    end
  end
  table.sort(list, function(a, b)
    if a.ns ~= b.ns then return a.ns > b.ns end
    return a.tag < b.tag
  end)
  return table.move(list, 1, math.min(#list, LOOKED_AT), 1, {})
end


-- { tag, share, place (by its own time) } of ranges that are no stage, by the share of the GPU
-- time that what they launched outside of stages takes, the largest first, of equal ones the
-- outer. declared: stages of the recipe.
function unmatched.ranges(trace, declared)
  local ops, list, names = check(trace:frame "gpu"), {}, {}
  local all = ops:group { total = { "duration" } }[1]
  if not all or all.duration.total == 0 then return list end
  for _, stage in ipairs(declared) do
    for _, tag in ipairs(stage.tags or { stage.name }) do names[#names + 1] = tag end
  end
  check(trace:label(ops, "declared", names))
  ops = check(ops:where { declared = false })
  for i, entry in ipairs(tags_of(trace, declared)) do
    local column = "unmatched_" .. i
    check(trace:label(ops, column, { entry.tag }))
    local inside = check(ops:where { [column] = entry.tag }):group { total = { "duration" } }[1]
    local share = inside and inside.duration.total / all.duration.total or 0
    if share >= WORTH then list[#list + 1] = { tag = entry.tag, share = share, place = i } end
  end
  local function percent(entry) return math.floor(entry.share * 100 + 0.5) end
  table.sort(list, function(a, b)
    if percent(a) ~= percent(b) then return percent(a) > percent(b) end
    return a.place < b.place
  end)
  return table.move(list, 1, math.min(#list, MOST), 1, {})
end


-- The tag that a name of a stage may mean: spelled nearly like it, or its beginning.
local function meant(list, name)
  local tags, own = {}, name:lower()
  for i, entry in ipairs(list) do tags[i] = entry.tag end
  local found = nearest.find(name, tags)
  for _, tag in ipairs(found and {} or tags) do
    local other = tag:lower()
    local count = math.min(#other, #own)
    if count >= LEAST_LETTERS and other:sub(1, count) == own:sub(1, count) then return tag end
  end
  return found
end


-- "89 % of the GPU time in 'dec', 11 % in 'load'; did you mean 'dec'?"; nil without ranges.
-- list: of unmatched.ranges; name: of a missing stage, or nil.
function unmatched.words(list, name)
  if #list == 0 then return nil end
  local said = {}
  for i, entry in ipairs(list) do
    said[i] = ("%s%% %sin '%s'"):format(text.number(entry.share * 100, 0) .. " ",
      i == 1 and "of the GPU time " or "", entry.tag)
  end
  local tag = name and meant(list, name)
  return table.concat(said, ", ") .. (tag and ("; did you mean '%s'?"):format(tag) or "")
end


return unmatched
