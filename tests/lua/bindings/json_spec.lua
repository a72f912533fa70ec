local json = require "llmprof.json"
local yaml = require "llmprof.yaml"


-- The error that encoding raises, without the place in this file.
local function misuse(value)
  local ok, message = pcall(json.encode, value)
  assert.is_false(ok)
  return message
end


local function with_file(text, body)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  body(path)
  os.remove(path)
end


describe("llmprof.json", function()
  it("decodes every type", function()
    local got = assert(json.decode [[
      { "i": 9007199254740993, "f": 1.0, "s": "a\u0000b", "t": true, "l": [1, [], {}], "n": null }
    ]])
    assert.equal("integer", math.type(got.i))
    assert.equal(9007199254740993, got.i)
    assert.equal("float", math.type(got.f))
    assert.equal("a\0b", got.s)
    assert.is_true(got.t)
    assert.same({ 1, {}, {} }, got.l)
    assert.equal(json.null, got.n)
    assert.equal(-7, json.decode "-7")
    assert.equal(json.null, json.decode " null ")
  end)

  it("has one null, which prints", function()
    assert.equal("null", tostring(json.null))
    assert.equal(json.null, yaml.null)
    assert.equal("userdata", type(json.null))
    assert.equal("[null]", json.encode { json.null })
  end)

  it("encodes on one line, keys in the order of their bytes", function()
    assert.equal('{"A":1,"a":{"x":[1,2.5,"s",true]},"b":2}',
      json.encode { b = 2, a = { x = { 1, 2.5, "s", true } }, A = 1 })
    assert.equal('"\\"\\\\\\n\\u0000é"', json.encode '"\\\n\0é')
    assert.equal("7", json.encode(7))
    assert.equal("false", json.encode(false))
  end)

  it("encodes on many lines", function()
    local value = { a = { 1, { b = {} } }, c = json.list {} }
    local text = '{\n  "a": [\n    1,\n    {\n      "b": {}\n    }\n  ],\n  "c": []\n}'
    assert.equal(text, json.encode(value, { pretty = true }))
    assert.equal("[1]", json.encode({ 1 }, { pretty = false }))
  end)

  it("tells empty lists from empty maps", function()
    assert.equal("{}", json.encode {})
    assert.equal("[]", json.encode(json.list()))
    assert.equal('{"a":[],"b":{}}', json.encode(json.decode '{"a":[],"b":{}}'))
    local list = json.decode "[1]"
    list[1] = nil
    assert.equal("[]", json.encode(list))
    assert.equal("[1]", json.encode(json.list { 1 }))
    assert.equal("[]", json.encode(json.list(json.list {})))
  end)

  it("takes an order of keys", function()
    local value = json.ordered({ a = 1, b = 2, c = 3, d = 4 }, { "d", "x", "b", "d" })
    assert.equal('{"d":4,"b":2,"a":1,"c":3}', json.encode(value))
    assert.equal('{"c":3,"a":1,"b":2,"d":4}', json.encode(json.ordered(value, { "c" })))
    local own = setmetatable({ a = 1, b = 2 }, { __keys = { "b" } })
    assert.equal('[{"b":2,"a":1}]', json.encode { own })
    assert.is_nil(getmetatable(json.decode '{"b":1,"a":2}'))
  end)

  it("keeps the order that was read, if asked to", function()
    local text = '{"z":[{"b":1,"a":2}],"y":{},"x":[]}'
    local value = assert(json.decode(text, { ordered = true }))
    assert.same({ "z", "y", "x" }, getmetatable(value).__keys)
    assert.equal(text, json.encode(value))
    assert.has_error(function() json.decode(text, { ordered = 1 }) end,
      "bad argument #2 to 'decode' (option 'ordered': boolean expected, got number)")
  end)

  it("refuses what is no tree, with the path", function()
    assert.equal("cannot encode a function at a.b[2]", misuse { a = { b = { 1, print } } })
    assert.equal("cannot encode a nil at top level", misuse(nil))
    assert.equal('cannot encode a userdata at ["x y"]', misuse { ["x y"] = io.stdout })
    assert.equal("cannot encode a thread at [1]", misuse { coroutine.create(print) })
    assert.equal("cannot encode a table that is both list and map at a",
      misuse { a = { 1, x = 2 } })
    assert.equal("cannot encode a list with holes at a", misuse { a = { 1, nil, 3 } })
    assert.equal("cannot encode a list with holes at top level", misuse { [2] = 1 })
    assert.equal("cannot encode a table with the key 0 at top level", misuse { [0] = 1 })
    assert.equal("cannot encode a table with the key 1.5 at a", misuse { a = { [1.5] = 1 } })
    assert.equal("cannot encode a table with a boolean as key at top level",
      misuse { [true] = 1 })
    local list = json.list {}
    list.x = 1
    assert.equal("cannot encode a list with string keys at [1]", misuse { list })
    assert.equal("cannot encode a table whose __keys is not a list at top level",
      misuse(setmetatable({}, { __keys = 1 })))
    assert.equal("cannot encode a table whose __keys are not all strings at a",
      misuse { a = json.ordered({}, { 1 }) })
  end)

  it("refuses a table that contains itself or is too deep", function()
    local loop = { a = { {} } }
    loop.a[1].b = loop.a
    assert.equal("cannot encode a table that contains itself at a[1].b", misuse(loop))
    local shared = {}
    assert.equal("[{},{}]", json.encode { shared, shared })
    local deep = {}
    for _ = 1, 999 do deep = { deep } end
    assert.equal(string.rep("[", 999) .. "{}" .. string.rep("]", 999), json.encode(deep))
    assert.matches("^cannot encode a table nested too deep at %[1%]%[1%]", misuse { deep })
  end)

  it("reports the same mistake whatever the order of pairs", function()
    for _ = 1, 20 do
      local value = {}
      for i = 1, 20 do value["k" .. i .. tostring({})] = print end
      value.a = print
      assert.equal("cannot encode a function at a", misuse(value))
    end
  end)

  it("says which value JSON cannot hold", function()
    local text, message, code = json.encode { a = { 1, 0 / 0 } }
    assert.is_nil(text)
    assert.equal("JSON has no NaN: number at a[2]", message)
    assert.equal("range", code)
    assert.equal("JSON has no infinity: number at top level",
      select(2, json.encode(math.huge)))
    assert.equal("JSON takes only UTF-8: string at s", select(2, json.encode { s = "\xff" }))
  end)

  it("names the place of a mistake", function()
    local function fails(text, options)
      local value, message, code = json.decode(text, options)
      assert.is_nil(value)
      return message, code
    end
    assert.equal("json:1:4: expected a value, found \"]\"", (fails "[1,]"))
    assert.equal("m.json:2:2: duplicate key \"a\"",
      (fails('{"a":1,\n "a":2}', { name = "m.json" })))
    local message, code = fails "[99999999999999999999]"
    assert.equal("json:1:2: integer does not fit into 64 bits", message)
    assert.equal("range", code)
    message, code = fails(("["):rep(201))
    assert.equal("json:1:201: nested deeper than 200 levels", message)
    assert.equal("limit", code)
  end)

  it("loads a file", function()
    with_file('{"a": [1]}\n', function(path)
      assert.same({ a = { 1 } }, json.load(path))
    end)
    with_file("[1,\n2", function(path)
      assert.equal(path .. ":2:2: expected ',' or ']', found the end",
        select(2, json.load(path)))
    end)
    local value, message, code = json.load "/proc/none.json"
    assert.is_nil(value)
    assert.equal("/proc/none.json: No such file or directory", message)
    assert.equal("notfound", code)
  end)

  it("raises on wrong arguments", function()
    assert.has_error(function() json.decode() end,
      "bad argument #1 to 'decode' (string expected, got no value)")
    assert.has_error(function() json.encode() end,
      "bad argument #1 to 'encode' (value expected)")
    assert.has_error(function() json.encode(1, { pretty = 1 }) end,
      "bad argument #2 to 'encode' (option 'pretty': boolean expected, got number)")
    assert.has_error(function() json.list(1) end,
      "bad argument #1 to 'list' (table expected, got number)")
    assert.has_error(function() json.list(setmetatable({}, {})) end,
      "bad argument #1 to 'list' (table has a metatable)")
    assert.has_error(function() json.ordered({}) end,
      "bad argument #2 to 'ordered' (table expected, got no value)")
    assert.has_error(function() json.ordered(json.list {}, {}) end,
      "bad argument #1 to 'ordered' (table has a metatable: set its __keys)")
  end)

  it("does not call metamethods", function()
    local trap = { __index = error, __pairs = error, __len = error, __eq = error }
    assert.equal('{"a":1}', json.encode(setmetatable({ a = 1 }, trap)))
    assert.equal("[1]", json.encode(setmetatable({ 1 }, trap)))
  end)
end)
