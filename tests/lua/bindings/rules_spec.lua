local frame = require "llmprof.frame"
local rules = require "llmprof.rules"

local ONE = { { "", 1 } } -- a rule that holds anywhere


-- Whether rules of one pattern find it; nil where it is none.
local function is_found(pattern, text, view)
  local made = rules.new { { pattern, 1, view } }
  return made and made:find(text) == 1
end


-- ---- as Lua has it ----

local pieces = { "a", "b", "ab", ".", "%a", "%A", "%d", "%w", "%s", "%p", "%.", "%%", "%u", "%l",
  "%x", "%g", "%c", "[ab]", "[^ab]", "[a-c]", "[%d_]", "[^%s]", "[]a]", "[^]]", "[a-]", "[%a-z]",
  "%f[%w]", "%f[^a]", "%b<>", "%b()", "(", ")", "()", "$", "^", "_", "<", ">", "-", "B" }
local repeats = { "", "", "", "", "*", "+", "-", "?" }
local letters = { "a", "b", "c", "A", "B", "1", "_", ".", " ", "<", ">", "(", ")", "%", "$", "]",
  "-", "\0", "\t", "\200" }


local function made_of(list, most)
  local made = {}
  for i = 1, math.random(0, most) do made[i] = list[math.random(#list)] end
  return table.concat(made)
end


local function random_pattern()
  local made = { math.random(4) == 1 and "^" or "" }
  for i = 1, math.random(0, 5) do
    made[i + 1] = pieces[math.random(#pieces)] .. repeats[math.random(#repeats)]
  end
  if math.random(4) == 1 then made[#made + 1] = "$" end
  return table.concat(made)
end


describe("llmprof.rules", function()
  it("finds what string.find does", function()
    math.randomseed(7)
    local compared, found, texts = 0, 0, {}
    for i = 1, 60 do texts[i] = made_of(letters, 14) end
    for _ = 1, 250 do
      local pattern = random_pattern()
      local made = rules.new { { pattern, 1 } }
      for _, text in ipairs(texts) do
        local known, at = pcall(string.find, text, pattern)
        if not known then assert.is_nil(made, pattern) end
        if made and known then
          local same = (made:find(text) == 1) == (at ~= nil)
          if not same then error(("%q in %q"):format(pattern, text)) end
          compared, found = compared + 1, found + (at and 1 or 0)
        end
      end
    end
    assert.is_true(compared > 9000, compared .. " compared")
    assert.is_true(found > 2000 and found < compared - 2000, found .. " found")
  end)

  it("refuses what is no pattern", function()
    local wrong = { ["[a"] = "missing ']'", ["a%"] = "ends with '%'",
      ["%b<"] = "missing arguments to '%b'", ["%fa"] = "missing '[' after '%f'",
      ["(a"] = "unfinished capture", ["a)"] = "a ')' closes nothing",
      ["(a)%1"] = "captures cannot be referred to" }
    for pattern, why in pairs(wrong) do
      local made, message, code = rules.new { { pattern, 1 } }
      assert.is_nil(made)
      assert.equal(("malformed pattern (%s)"):format(why), message)
      assert.equal("syntax", code)
    end
  end)

  it("takes the first rule that holds", function()
    local made = assert(rules.new { { "gemm", 3 }, { "^void", 0 }, { "m", 7 } })
    assert.equal(3, made:find "void gemm")
    assert.equal(0, made:find "void norm")
    assert.equal(7, made:find "rms")
    assert.is_nil(made:find "copy")
    assert.is_nil(made:find "")
    made:close()
    assert.error(function() made:find "gemm" end)
  end)

  it("looks at a kernel's name as a whole or at its function's", function()
    local name = "void At::(anonymous namespace)::Fill<float, std::pair<A, B>>::run<3>(Copy<int>)"
    for view, text in pairs { whole = "at::fill<float, std::pair<a, b>>::run<3>",
      ["function"] = "at::fill::run" } do
      local literal = text:gsub("%p", "%%%0")
      assert.is_true(is_found("^" .. literal .. "$", name, view), view)
    end
    assert.is_true(is_found("^run$", "enable_if<(bool)1, X>::type  run<int>(int) ", "function"))
    assert.is_true(is_found("^a<b$", "a<b", "function"))
    assert.is_true(is_found("^a<b$", "a<b", "whole"))
    assert.is_true(is_found("^a>b$", "a>b<c>", "function"))
    assert.is_true(is_found("^$", "", "function"))
    assert.is_true(is_found("^$", "(int)", "whole"))
  end)

  it("reads no more of a kernel's name than 4,096 bytes", function()
    local long = ("<"):rep(5000) .. "gemm"
    assert.is_false(is_found("gemm", long, "function"))
    assert.is_false(is_found("gemm", long, "whole"))
    assert.is_true(is_found("gemm", long, "text"))
    assert.is_true(is_found("^<+$", long, "whole"))
  end)

  it("numbers the texts of a frame", function()
    local rows = frame.new(5, { { name = "name", type = "string",
      values = { "gemm", "copy", false, "gemm", "norm" } } })
    local made = assert(rules.new { { "gemm", 2 }, { "copy", 1 } })
    assert.equal(rows, rules.number(rows, "name", made, "kind"))
    assert.same({ 2, 1, false, 2, false }, rows:values "kind")
    local view = assert(rows:sort { { "name", true } }) -- reached by an index
    rules.number(view, "name", made, "again")
    assert.same({ false, 2, 2, 1, false }, view:values "again")
    assert.error(function() rules.number(rows, "kind", made, "more") end)
    assert.error(function() rules.number(rows, "name", made, "kind") end)
  end)

  it("checks what it is given", function()
    assert.error(function() rules.new "gemm" end)
    assert.error(function() rules.new { "gemm" } end)
    assert.error(function() rules.new { { "gemm" } } end)
    assert.error(function() rules.new { { "gemm", -1 } } end)
    assert.error(function() rules.new { { "gemm", 1, "half" } } end)
    assert.equal(1, assert(rules.new(ONE)):find "")
  end)

  it("marks one number among those that are said", function()
    local made = assert(rules.new { { "gemm", 1 }, { "norm", 2 } })
    local rows = frame.new(3, { { name = "name", type = "string",
      values = { "gemm_tn", "rms_norm", "copy" } } })
    rules.number(rows, "name", made, "norm", 2)
    assert.are.same({ 0, 1 }, { rows:get(1, "norm"), rows:get(2, "norm") })
    assert.is_nil(rows:get(3, "norm"))
  end)

  it("says of many names what it said before, of whatever frame", function()
    local MANY = 8200
    local function named(prefix, count)
      local values = {}
      for i = 1, count do values[i] = prefix .. i end
      return frame.new(count, { { name = "name", type = "string", values = values } })
    end
    local made = assert(rules.new { { "7$", 1 }, { "^b", 2 } })
    for _, prefix in ipairs { "a", "b" } do
      local rows = named(prefix, MANY)
      local some = rows:where { { "name", "~=", prefix .. 7 } }
      rules.number(some, "name", made, "some")
      rules.number(rows, "name", made, "kind")
      rules.number(rows, "name", made, "second", 2)
      for _, i in ipairs { 1, 7, 8, 17, MANY } do
        local kind = made:find(prefix .. i)
        assert.are.equal(kind, rows:get(i, "kind"), prefix .. i)
        assert.are.equal(kind and (kind == 2 and 1 or 0), rows:get(i, "second"), prefix .. i)
      end
      assert.are.equal(made:find(prefix .. 17), some:get(16, "some"))
    end
  end)

  it("takes the first of many rules, however many there are", function()
    local list = {}
    for i = 1, 600 do
      list[i] = { ("k%03d_"):format(i), i, i % 2 == 0 and "whole" or "function" }
    end
    list[550] = { "^k5%d%d_$", 550 }
    local made = assert(rules.new(list))
    assert.equal(100, made:find "k100_")
    assert.equal(599, made:find "k599_(int)")
    assert.equal(550, made:find "k599_")
    assert.equal(520, made:find "k560_k599_k520_")
    assert.equal(559, made:find "k560_k599_k559_")
    assert.is_nil(made:find "k601_")
  end)
end)
