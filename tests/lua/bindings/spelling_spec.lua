-- One word for all spellings of a kernel's name.
local spelling = require "llmprof.spelling"

-- As nsys writes it, and as c++filt and PyTorch do.
local pairs_of_names = {
  { "void <unnamed>::softmax_warp_forward<float, float, float, (int)6, (bool)0, (bool)1>(T2 *, "
      .. "const T1 *, int, const bool *, bool)",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 6, false, true>(float*, "
      .. "float const*, int, bool const*, bool)" },
  { "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<"
      .. "at::native::MulFunctor<float>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) "
      .. "(instance 1)]>(int, T3)",
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
      .. "at::native::MulFunctor<float> >(at::TensorIteratorBase&, at::native::MulFunctor<float> "
      .. "const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<at::native::MulFunctor"
      .. "<float> >(at::TensorIteratorBase&, at::native::MulFunctor<float> "
      .. "const&)::{lambda(int)#1})" },
  { "void f<std::array<char *, (unsigned long)2>, (int)-2, const float>(T1)",
    "void f<std::array<char*, 2ul>, -2, float const>(std::array<char*, 2ul>)" },
  { "[CUDA memcpy Host-to-Device]", "Memcpy HtoD (Pageable -> Device)" },
  { "[CUDA memcpy Device-to-Device]", "Memcpy DtoD (Device -> Device)" },
  { "[CUDA memset]", "Memset (Device)" },
  { "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT" },
}


-- ---- the same, by patterns ----

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


local function by_patterns(name)
  local copy = of_copy(name)
  if copy then return copy end
  local text = name:sub(1, 8192):gsub("<unnamed>::", ""):gsub("%(anonymous namespace%)::", "")
    :gsub("%(instance (%d+)%)", "#%1")
  text = outside_brackets(text):gsub("[%[%]{}]", "")
    :gsub("%f[%w_]%a+%f[^%w_]", function(word) return dropped[word] or values[word] end)
    :gsub("%f[%w_](%d+)[uUlL]+%f[^%w_]", "%1")
  return (text:gsub("%s+", ""))
end


local pieces = { "<unnamed>::", "(anonymous namespace)::", "(instance ", "(instance 12)", "(", ")",
  "[", "]", "{", "}", "<", ">", "const", "void", "true", "false", "trueish", "2ul", "3UL", "4u_",
  "u", "12", "_", " ", "\t", "f", "float", "*", ", ", "::", "\0", "\200", "#", "(int)4",
  "[CUDA memcpy ", "Host", "-to-", "Device]", "Memcpy ", "HtoD", "DtoX", "Memset", "[CUDA memset]",
  "<unna", "med>::", "(instance 1", "9)", "void ", "gemm_64", "softmax", "Memory", "voids" }

local function random_name()
  local made = {}
  for i = 1, math.random(0, 12) do made[i] = pieces[math.random(#pieces)] end
  return table.concat(made)
end


describe("llmprof.spelling", function()
  it("makes spellings of a name the same", function()
    for _, names in ipairs(pairs_of_names) do
      assert.equal(spelling.of(names[1]), spelling.of(names[2]))
    end
  end)

  it("tells names apart", function()
    local seen = {}
    for _, names in ipairs(pairs_of_names) do
      assert.is_nil(seen[spelling.of(names[1])])
      seen[spelling.of(names[1])] = true
    end
    assert.are_not.equal(spelling.of "void f<(int)4>(int)", spelling.of "void f<(int)8>(int)")
    assert.are_not.equal(spelling.of "f()::[lambda() (instance 1)]",
      spelling.of "f()::[lambda() (instance 2)]")
  end)

  it("takes what is no C++ as it is", function()
    assert.equal("", spelling.of "")
    assert.equal("triton_poi_fused_add_0", spelling.of "triton_poi_fused_add_0")
    assert.equal("a", spelling.of "a((((")
    assert.equal("a", spelling.of ")))a")
  end)

  it("says what patterns say", function()
    math.randomseed(11)
    for _ = 1, 2000 do
      local name = random_name()
      local wanted = by_patterns(name)
      if spelling.of(name) ~= wanted then error(("%q is %q, not %q"):format(name,
        spelling.of(name), wanted)) end
    end
    local long = ("void f<(int)4>"):rep(1000)
    assert.equal(by_patterns(long), spelling.of(long))
  end)
end)
