-- Names of kernels that a person can read: "add<bf16>", "gemm nvjet 64x8x64 TNT",
-- "flash-attn fwd sm90 d128", "rms_norm (triton, fused with add)".
--
-- Which family a kernel is of, llmprof.analysis.kernels.labels.families says.
local families = require "llmprof.analysis.kernels.labels.families"
local lists = require "llmprof.tables.lists"
local text = require "llmprof.text"

local labels = {}

-- ---- of no family ----

-- Characters of a function's name.
local LONGEST_NAME = 48


-- "rms_norm" for "rms_norm_kernel" and "_rms_norm_kernel".
local function without_kernel(base)
  local short = base
  if short:sub(-5) == "ernel" then short = short:gsub("_kernel$", ""):gsub("Kernel$", "") end
  short = short:match "^_*(.*)$"
  return short ~= "" and short or base
end


-- Functions that run what they are a template of.
local WRAPPERS = { device_kernel = true, Kernel = true, Kernel2 = true, kentry = true,
  enable_sm90_or_later = true }

-- What a kernel runs, without the functions around it.
local function inner_of(read)
  for _, arg in ipairs(WRAPPERS[read.base] and read.args or {}) do
    local inner = families.read(arg)
    if #inner.args > 0 then return inner_of(inner) end
  end
  return read
end


-- The label of any other kernel: its function without namespaces and "kernel", with the
-- types that it was made for.
local function plain(read)
  local inner = inner_of(read)
  local word = text.truncate(without_kernel(inner.base), LONGEST_NAME, "middle")
  return families.of(word, families.dtypes(inner.args, 3))
end


-- ---- labels ----

local tried = { families.attention, families.gemm, families.triton, families.aten, plain }

-- Characters of a label.
local LONGEST = 72


local function label_of(name)
  local read = families.read(name)
  for _, family in ipairs(tried) do
    local label = family(read)
    if label and label ~= "" then return text.truncate(text.clean(label), LONGEST, "middle") end
  end
  return text.truncate(text.clean(name), LONGEST, "middle")
end


-- What was read last: reports ask for the same names several times. Of more names than these
-- all are forgotten at once.
local REMEMBERED = 2000
local known, remembered = {}, 0

-- A name's label, which others may have, too.
function labels.of(name)
  if not known[name] then
    if remembered == REMEMBERED then known, remembered = {}, 0 end
    known[name], remembered = label_of(name), remembered + 1
  end
  return known[name]
end


-- ---- labels that differ ----

-- Where labels are alike, these many words of the names tell them apart, from so many bytes of a
-- name; and the characters that a word may have.
local WORDS, READ, DETAIL = 4, 2048, 24

local function words_of(name)
  local list = {}
  for word in name:sub(1, READ):gmatch "%w+" do
    list[#list + 1] = text.truncate(word, DETAIL, "middle")
  end
  return list
end


-- Appends to the labels of these names, which are alike, the first word in which they differ.
local function tell_apart(group, made)
  local split, most = lists.map(group, words_of), 0
  for _, own in ipairs(split) do most = math.max(most, #own) end
  for place = 1, most do
    local differ = lists.any(split, function(own) return own[place] ~= split[1][place] end)
    for i, name in ipairs(differ and group or {}) do
      made[name] = ("%s %s"):format(made[name], split[i][place] or ""):gsub(" $", "")
    end
    if differ then return end
  end
end


-- What still reads alike is numbered, in the order of the names.
local function number(names, made)
  local taken, nth = {}, {}
  for _, name in ipairs(names) do
    local own = made[name]
    local label = own
    while taken[label] do
      nth[own] = (nth[own] or 1) + 1
      label = ("%s ~%d"):format(own, nth[own])
    end
    taken[label], made[name] = true, label
  end
end


-- By name: its label, different for different names. `names` are without repeats.
function labels.unique(names)
  local made = {}
  for _, name in ipairs(names) do made[name] = labels.of(name) end
  local alike = names
  for _ = 1, WORDS do
    local groups = lists.grouped(alike, function(name) return made[name] end)
    groups = lists.filtered(groups, function(group) return group[2] ~= nil end)
    for _, group in ipairs(groups) do tell_apart(group, made) end
    alike = lists.flat(groups, function(group) return group end)
  end
  number(lists.sort(lists.joined(names)), made)
  return made
end


return labels
