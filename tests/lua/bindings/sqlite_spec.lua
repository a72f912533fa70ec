local errors = require "llmprof.process.errors"
local fs = require "llmprof.fs"
local sqlite = require "llmprof.sqlite"

local TINY = (debug.getinfo(1, "S").source:match "^@(.-)tests/lua/bindings/" or "")
  .. "tests/fixtures/tiny_h200/run.sqlite"


describe("llmprof.sqlite", function()
  local db

  before_each(function() db = assert(sqlite.open(TINY)) end)
  after_each(function() db:close() end)

  local function rows(...)
    local got = {}
    for row in db:query(...) do got[#got + 1] = row end
    return got
  end

  it("iterates over rows by column name", function()
    assert.same({ { id = 1, label = "Host-to-Device" }, { id = 2, label = "Device-to-Host" } },
      rows "SELECT id, label FROM ENUM_CUDA_MEMCPY_OPER WHERE id IN (1, 2) ORDER BY 1")
    assert.same({}, rows "SELECT 1 WHERE 0")
    assert.equal(20010, rows "SELECT count(*) AS n FROM CUPTI_ACTIVITY_KIND_KERNEL"[1].n)
  end)

  it("keeps types, bytes and every bit", function()
    local row = rows("SELECT 9223372036854775807 AS i, 0.1 AS d, 'a' || char(0) || 'b' AS s, "
      .. "x'00ff' AS b, NULL AS n, 2.0 AS whole")[1]
    assert.same({ i = math.maxinteger, d = 0.1, s = "a\0b", b = "\0\255", whole = 2.0 }, row)
    assert.equal("integer", math.type(row.i))
    assert.equal("float", math.type(row.whole))
  end)

  it("binds parameters", function()
    assert.same({ { a = 1, b = 0.5, c = "x\0y", e = 1, f = 0 } },
      rows("SELECT ? AS a, ? AS b, ? AS c, ? AS d, ? AS e, ? AS f", 1, 0.5, "x\0y", nil, true,
        false))
  end)

  it("frees the statement when a loop is left", function()
    for row in db:query "SELECT 1 AS a UNION SELECT 2" do
      if row.a == 1 then break end
    end
    pcall(function()
      for _ in db:query "SELECT 1" do error "left" end
    end)
    local iterator, query = db:query "SELECT 1 AS a UNION SELECT 2"
    assert.equal(1, iterator(query).a)
    query:close()
    query:close()
    assert.is_nil(iterator(query))
  end)

  it("lets a loop go on after the database is closed", function()
    local got = {}
    for row in db:query "SELECT 1 AS a UNION SELECT 2 UNION SELECT 3" do
      got[#got + 1] = row.a
      db:close()
    end
    assert.same({ 1, 2, 3 }, got)
  end)

  it("tells tables and columns", function()
    assert.is_true(db:has "StringIds")
    assert.is_true(db:has "stringids") -- as in SQL
    assert.is_true(db:has("StringIds", "value"))
    assert.is_false(db:has("StringIds", "nothing"))
    assert.is_false(db:has("Nothing", "value"))
  end)

  it("raises out of a loop over a file that breaks off", function()
    local folder = assert(fs.temp_dir "llmprof-test-")
    local path, bytes = folder .. "/cut.sqlite", assert(fs.read(TINY))
    -- without its count of pages, so that only reading finds out
    assert(fs.write(path, bytes:sub(1, 92) .. "\0\0\0\0" .. bytes:sub(97, 400000)))
    local cut = assert(sqlite.open(path))
    local ok, message = pcall(function()
      for _ in cut:query "SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME" do end
    end)
    cut:close()
    assert(fs.remove_tree(folder))
    assert.is_false(ok)
    assert.is_true(errors.is(message)) -- the file's fault, no bug
    assert.equal(path .. ": corrupt (database disk image is malformed)", tostring(message))
  end)

  it("raises on broken SQL and wrong parameters", function()
    local function raises(message, ...)
      local ok, got = pcall(db.query, db, ...)
      assert.is_false(ok)
      assert.equal(message, got)
    end
    raises(TINY .. ': near "SELEC": syntax error', "SELEC 1")
    raises(TINY .. ": one SQL statement at a time", "SELECT 1; SELECT 2")
    raises("SQL statement wants 1 parameters, got 0", "SELECT ?")
    raises("SQL statement wants 0 parameters, got 1", "SELECT 1", 5)
  end)

  it("raises on misuse", function()
    assert.error_matches(function() sqlite.open() end, "string expected, got no value")
    assert.error_matches(function() sqlite.open(TINY .. "\0") end, "NUL byte")
    assert.error_matches(function() db:query("SELECT ?", {}) end,
      "number, string, boolean or nil expected")
    assert.error_matches(function() db:has() end, "string expected, got no value")
    assert.error_matches(function() db.has(io.stdout, "x") end, "llmprof.sqlite.database expected")
  end)

  it("closes more than once, and then cannot be used", function()
    db:close()
    db:close()
    assert.error_matches(function() db:query "SELECT 1" end, "llmprof.sqlite.database is closed")
    assert.error_matches(function() db:has "x" end, "llmprof.sqlite.database is closed")
  end)
end)
