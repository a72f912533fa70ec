-- docs/models.md lists every field of a description, with its kind and default.
local fs = require "llmprof.fs"
local model = require "llmprof.model"

local function shown(field)
  local kind, default = field[1], field[2]
  if type(default) == "table" then
    default = kind == "table" and "{}" or "[]"
  elseif default == "" then
    default = '""'
  end
  return type(kind) == "table" and table.concat(kind, ", ") or kind,
    default == nil and "" or tostring(default)
end


-- The rows below the head of a table: by field, kind and default.
local function listed(page, head)
  local rows = {}
  local top = ("| %s | kind | default | |\n|---|---|---|---|\n"):format(head)
  local start = assert(select(2, page:find(top, 1, true)), head)
  for line in page:sub(start + 1):gmatch "([^\n]*)\n" do
    local name, kind, default = line:match "^| `([^`]+)` | (.-) | (.-) |"
    if not name then break end
    rows[name] = { kind, default }
  end
  return rows
end


describe("docs/models.md", function()
  local page = assert(fs.read "docs/models.md")
  local parts = { ["field"] = model.FIELDS.model, ["field of `formats`"] = model.FIELDS.formats,
    ["field of `decoder`"] = model.FIELDS.decoder,
    ["field of all"] = model.FIELDS.encoders.common,
    ["field of `convolutions`"] = model.FIELDS.encoders.convolution }
  for _, kind in ipairs { "vit", "projector" } do
    parts[("field of `%s`"):format(kind)] = model.FIELDS.encoders[kind]
  end

  for head, fields in pairs(parts) do
    it("lists each " .. head .. ", and no other", function()
      local wanted = {}
      for name, field in pairs(fields) do wanted[name] = { shown(field) } end
      assert.same(wanted, listed(page, head))
    end)
  end
end)
