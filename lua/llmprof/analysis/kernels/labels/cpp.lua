-- Names of kernels as C++ writes them, taken apart: the function's path, its template
-- arguments, and the types among these by the words people use.
local cpp = {}

-- Longer names, and names of functions, are read to here: what tells one from another comes
-- early. Patterns over these texts begin at a word or a literal, so that no name takes the
-- square of its length.
local LONGEST, FUNCTION = 8192, 512

local types = {
  float = "fp32", double = "fp64", half = "fp16", Half = "fp16", __half = "fp16",
  half_t = "fp16", __nv_bfloat16 = "bf16", nv_bfloat16 = "bf16", BFloat16 = "bf16",
  bfloat16_t = "bf16", bf16 = "bf16", fp16 = "fp16", fp32 = "fp32", tf32 = "tf32",
  Float8_e4m3fn = "fp8", __nv_fp8_e4m3 = "fp8", float_e4m3_t = "fp8",
  Float8_e5m2 = "fp8 e5m2", __nv_fp8_e5m2 = "fp8 e5m2", float_e5m2_t = "fp8 e5m2",
  bool = "bool", char = "int8", ["signed char"] = "int8", ["unsigned char"] = "uint8",
  short = "int16", ["unsigned short"] = "uint16", int = "int32", ["unsigned int"] = "uint32",
  long = "int64", ["long long"] = "int64", ["unsigned long"] = "uint64",
  ["unsigned long long"] = "uint64", int8_t = "int8", uint8_t = "uint8",
}


-- "bf16" for "const c10::BFloat16 *", "16-bit" for a type of which only the size is
-- known; nil for what is no such type.
function cpp.dtype(text)
  if types[text] then return types[text] end
  local size = text:find("OpaqueType<", 1, true) and text:match "OpaqueType<%(?[%a ]*%)?(%d+)"
  if size then return ("%d-bit"):format(8 * size) end
  local word = text:gsub("^const ", ""):gsub("[ *&]+$", "")
  return types[word] or types[word:match "::([%w_]+)$"]
end


local COMMA, GREATER, MINUS, LESS = (",>-<"):byte(1, 4)
local OPENS = { [LESS] = true, [("("):byte()] = true, [("["):byte()] = true }

-- Close a bracket: ">" is an operator within others, as "<" was that nothing closed before them.
-- open: those that are, `depth` of them; returns how many stay so.
local function closed(open, depth, mark)
  if mark == GREATER then return open[depth] == LESS and depth - 1 or depth end
  while depth > 1 and open[depth] == LESS do depth = depth - 1 end
  return depth - 1
end


-- Where the bracket that opens at `from` is closed, and what is between the commas
-- directly inside.
local function inside(text, from)
  local args, open, depth, at, begun = {}, {}, 0, from, from + 1
  repeat
    local found = text:find("[<>(),%[%]]", at)
    if not found then return #text, args end
    local mark = text:byte(found)
    if mark == COMMA then
      if depth == 1 then
        args[#args + 1], begun = text:sub(begun, found - 1):match "^%s*(.*)$", found + 1
      end
    elseif OPENS[mark] then
      depth = depth + 1
      open[depth] = mark
    elseif mark ~= GREATER or text:byte(found - 1) ~= MINUS then -- "->" closes nothing
      depth = closed(open, depth, mark)
    end
    at = found + 1
  until depth == 0
  args[#args + 1] = text:sub(begun, at - 2):match "^%s*(.*)$"
  return at - 1, args
end


-- Without what a pattern stands for, which has the literal in it.
local function without(text, literal, pattern, by)
  return text:find(literal, 1, true) and text:gsub(pattern, by) or text
end


-- { path = "at::native::reduce_kernel", base = "reduce_kernel", args = template
-- arguments, all = their text }; args is empty without a template.
function cpp.read(name)
  local text = without(name:sub(1, LONGEST), "void ", "^void ", "")
  text = without(text, "<unnamed>::", "<unnamed>::", "")
  text = without(text, "(anonymous", "%(anonymous namespace%)::", "")
  text = without(text, "operator", "operator ?[<>]+=?", "operator")
  local from, made = 1, { args = {}, all = "" }
  repeat
    local opens, _, mark = text:find("([<(])", from)
    made.path = text:sub(from, (opens or 0) - 1):gsub("^::", "")
    if mark then made.path = made.path:match "[^ ]+$" or made.path end -- behind what it returns
    if mark ~= "<" then break end
    local closes, args = inside(text, opens)
    made.args, made.all = args, text:sub(opens + 1, closes - 1)
    from = closes + 1
  until text:sub(from, from + 1) ~= "::"
  made.base = made.path:match("[^:]*$"):sub(1, FUNCTION)
  return made
end


-- The types among the template arguments, each once, `most` at most.
function cpp.dtypes(args, most)
  local list, seen = {}, {}
  for _, arg in ipairs(args) do
    local found = #list < most and cpp.dtype(arg)
    if found and not seen[found] then seen[found], list[#list + 1] = true, found end
  end
  return list
end


-- "add<bf16, fp32>"; the word alone without types.
function cpp.of(word, dtypes)
  return dtypes[1] and ("%s<%s>"):format(word, table.concat(dtypes, ", ")) or word
end


return cpp
