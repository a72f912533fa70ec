-- What a kernel's name comes to however it is spelt: NVIDIA's tools write
-- "void f<(int)4, (bool)1>(T1, const T2 *)" where c++filt writes
-- "void f<4, true>(float, int const*)", and PyTorch has its own words for copies.
local spelling = {}

-- Bytes of a name that are looked at.
local LONGEST = 8192

local ends = { H = "H", D = "D", P = "P", A = "A" }

local values = { ["true"] = "1", ["false"] = "0" }

-- Words that stand in one spelling and not in the other, or elsewhere.
local dropped = { const = "", void = "" }


-- "copy HtoD" and "set"; nil for what is a kernel.
local function of_copy(name)
  local from, to = name:match "^%[CUDA memcpy (%u)%a*%-to%-(%u)"
  if not from then from, to = name:match "^Memcpy (%u)to(%u)" end
  if ends[from] and ends[to] then return ("copy %sto%s"):format(from, to) end
  if name:find "^Memset" or name == "[CUDA memset]" then return "set" end
  return nil
end


-- The text without what is in round brackets: parameters, types of literals.
local function outside_brackets(text)
  local parts, depth = {}, 0
  for part, mark in text:gmatch "([^()]*)([()]?)" do
    if depth == 0 then parts[#parts + 1] = part end
    if mark == "(" then depth = depth + 1
    elseif mark == ")" and depth > 0 then depth = depth - 1 end
  end
  return table.concat(parts)
end


-- The same for all spellings of a name.
function spelling.of(name)
  local copy = of_copy(name)
  if copy then return copy end
  local text = name:sub(1, LONGEST):gsub("<unnamed>::", ""):gsub("%(anonymous namespace%)::", "")
    :gsub("%(instance (%d+)%)", "#%1")
  text = outside_brackets(text):gsub("[%[%]{}]", "")
    :gsub("%f[%w_]%a+%f[^%w_]", function(word) return dropped[word] or values[word] end)
    :gsub("%f[%w_](%d+)[uUlL]+%f[^%w_]", "%1")
  return (text:gsub("%s+", ""))
end


return spelling
