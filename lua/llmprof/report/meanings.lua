-- What the columns of the reports' tables mean, for the page and for `llmprof help columns`.
local columns = require "llmprof.report.columns"
local lists = require "llmprof.tables.lists"
local sections = require "llmprof.report.sections"
local sorted_keys = require("llmprof.tables.keys").sorted

local meanings = {}

local function name_of(column) return column.key .. "\0" .. column.title end


-- By key and title what columns say that they mean; false where some differ.
local known = {}
for _, declared in pairs(columns) do
  for _, column in ipairs(declared) do
    local name, said = name_of(column), column.meaning
    if said then known[name] = (known[name] == nil or known[name] == said) and said end
  end
end


-- What a column means, by itself or as others of its key and title; nil where nothing says so.
function meanings.of(column) return column.meaning or known[name_of(column)] or nil end


-- The tables, those of `llmprof show` first: { title, columns }, a column that several show in the
-- first of them.
function meanings.tables()
  local list, listed = lists.first(sections.all()), {}
  for _, name in ipairs(sorted_keys(columns)) do
    if not sections.known(name) then
      list[#list + 1] = { title = ("Table `%s`"):format(name), columns = columns[name] }
    end
  end
  return lists.map(list, function(one)
    local own = lists.filtered(one.columns, function(column)
      local is_new = column.meaning and not listed[column]
      listed[column] = true
      return is_new
    end)
    return #own > 0 and { title = one.title, columns = own } or nil
  end)
end


return meanings
