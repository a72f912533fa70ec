-- llmprof mcp: messages in, messages out. tests/agents has the official client.
local bundle = require "tests.lua.support.bundle"
local fs = require "llmprof.fs"
local json = require "llmprof.json"
local spawn = require "llmprof.spawn"
local sys = require "llmprof.sys"

local VERSION = "io.modelcontextprotocol/protocolVersion"
local CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


describe("llmprof mcp", function()
  local top = bundle.scratch(before_each, after_each)

  -- What it answers to these lines, decoded; texts stay as they are, tables are encoded.
  local function answers(lines, ...)
    for i, line in ipairs(lines) do
      if type(line) == "table" then lines[i] = assert(json.encode(line)) end
    end
    assert(fs.write(top() .. "/in", table.concat(lines, "\n") .. "\n"))
    local result = assert(spawn.run({ "sh", "-c", 'in=$1; shift; exec "$@" <"$in"', "sh",
      top() .. "/in", sys.executable(), "mcp", "--root", top(), ... },
      { stdout = top() .. "/out", stderr = top() .. "/err", timeout = 60 }))
    assert.equal("", assert(fs.read(top() .. "/err")))
    assert.equal(0, result.code)
    local list = {}
    for line in assert(fs.read(top() .. "/out")):gmatch "[^\n]+" do
      list[#list + 1] = assert(json.decode(line))
    end
    return list
  end

  local function request(method, params, id)
    return { jsonrpc = "2.0", id = id or 1, method = method, params = params or {} }
  end

  local function modern(method, params, version)
    params = params or {}
    params._meta = { [VERSION] = version or "2026-07-28", [CAPABILITIES] = {} }
    return request(method, params)
  end

  local function call(name, arguments, ...)
    local said = answers({ request("tools/call", { name = name, arguments = arguments }) }, ...)[1]
    if said.error then return said.error.message, "error" end
    return said.result.content[1].text, said.result.isError
  end

  it("agrees on a revision with a client that begins", function()
    for wanted, agreed in pairs { ["2025-11-25"] = "2025-11-25", ["2024-11-05"] = "2024-11-05",
      ["1999-01-01"] = "2025-11-25" } do
      local said = answers { request("initialize", { protocolVersion = wanted }) }[1]
      assert.equal(agreed, said.result.protocolVersion)
      assert.equal("llmprof", said.result.serverInfo.name)
      assert.is_nil(said.result.resultType)
    end
  end)

  it("says how resources are named", function()
    local said = answers { request "resources/templates/list" }[1].result.resourceTemplates
    assert.equal("llmprof://runs/{run}/{file}", said[1].uriTemplate)
    assert.equal("llmprof://docs/{page}", said[2].uriTemplate)
  end)

  it("answers one that does not begin", function()
    local said = answers { modern "server/discover", modern "tools/list", modern "ping",
      modern("tools/list", nil, "2030-01-01"),
      request("tools/list", { _meta = { [VERSION] = "2026-07-28" } }) }
    assert.equal("2026-07-28", said[1].result.supportedVersions[1])
    assert.equal("complete", said[2].result.resultType)
    assert.equal("private", said[2].result.cacheScope)
    assert.equal("llmprof", said[2].result._meta["io.modelcontextprotocol/serverInfo"].name)
    assert.equal(-32601, said[3].error.code)
    assert.equal(-32022, said[4].error.code)
    assert.same({ "2026-07-28" }, said[4].error.data.supported)
    assert.equal(-32602, said[5].error.code)
  end)

  it("answers what is no request with its error, and goes on", function()
    local codes = {}
    local lines = { "{", "[]", "1", '{"id":1,"method":"ping"}', '{"jsonrpc":"2.0","id":1}',
      '{"jsonrpc":"2.0","id":{},"method":"ping"}', request "nothing/here",
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
      '{"jsonrpc":"2.0","id":1,"result":{}}', "", '{"jsonrpc":"2.0","method":"nobody/answers"}',
      '{"jsonrpc":"2.0","method":"nobody/answers","params":[]}',
      '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
      ("x"):rep(1 << 20 | 1), request("tools/call", { name = "rm" }),
      request("resources/read", { uri = "llmprof://runs/../x/report.md" }),
      request("resources/read", { uri = 7 }), request "ping" }
    for i, said in ipairs(answers(lines)) do codes[i] = said.error and said.error.code or "done" end
    assert.same({ -32700, -32600, -32600, -32600, -32600, -32600, -32601, -32602, -32600, -32600,
      -32602, -32602, -32602, "done" }, codes)
  end)

  it("answers batches in the revision that has them", function()
    local said = answers { request("initialize", { protocolVersion = "2025-03-26" }),
      '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"nobody/answers"},7,'
        .. '{"jsonrpc":"2.0","id":"b","method":"nothing/here"}]',
      '[{"jsonrpc":"2.0","method":"nobody/answers"}]', "[]", request("ping", nil, 9),
      request("initialize", { protocolVersion = "2025-06-18" }),
      '[{"jsonrpc":"2.0","id":1,"method":"ping"}]' }
    assert.equal(3, #said[2])
    assert.same({}, said[2][1].result)
    assert.equal(-32600, said[2][2].error.code)
    assert.same({ "b", -32601 }, { said[2][3].id, said[2][3].error.code })
    assert.equal(-32600, said[3].error.code)
    assert.equal(9, said[4].id)
    assert.equal(-32600, said[6].error.code)
  end)

  it("tells no addresses of what a client names", function()
    for _, said in ipairs(answers { request("tools/call", { name = { a = 1 } }),
      request("resources/read", { uri = { a = 1 } }),
      request("ping", { _meta = { [VERSION] = { a = 1 } } }) }) do
      assert.matches('{\\"a\\":1}', assert(json.encode(said.error)))
    end
  end)

  it("answers while a line is not whole yet", function()
    local slow = assert(json.encode(request("tools/call", { name = "query", arguments = {
      run = "tests/fixtures/deepseek_ocr", code = "while true do end" } }, 7)))
    local result = assert(spawn.run({ "sh", "-c", [[
      in=$1; out=$2; shift 2; mkfifo "$in"; "$@" <"$in" >"$out" & exec 9>"$in"
      printf '%s\n{"jsonrpc":"2.0","id":8,' "$SLOW" >&9
      while ! grep -q '"id":7' "$out"; do sleep 0.05; done
      printf '"method":"ping"}\n' >&9; exec 9>&-; wait]], "sh", top() .. "/in", top() .. "/out",
      sys.executable(), "mcp", "--seconds", "1" }, { env = { SLOW = slow }, timeout = 60 }))
    assert.is_true(result.ok)
    local said = assert(fs.read(top() .. "/out"))
    assert.matches("no answer within its time", said)
    assert.matches('"id":8', said)
  end)

  it("has at most six tools, in less than 8,000 bytes", function()
    for count, option in pairs { [5] = "--root=" .. top(), [6] = "--allow-capture" } do
      local said = answers({ request "tools/list" }, option)[1]
      assert.equal(count, #said.result.tools)
      assert.is_true(#json.encode(said) < 8000)
    end
  end)

  describe("tools", function()
    before_each(function()
      assert.is_nil((select(2, bundle.run_small(top(), 'stages = { "decode" }'))))
    end)

    it("tell of runs, and leave out what does not fit", function()
      local said, failed = call("digest", { run = top() .. "/run" })
      assert.is_false(failed)
      assert.equal(1, assert(json.decode(said)).schema_version)
      said = assert(json.decode((call("table", { run = top() .. "/run", section = "kernels",
        top = 1 }))))
      assert.equal(1, #said.rows)
      assert.is_true(said.left_out > 0)
      local filtered = assert(json.decode((call("table", { run = top() .. "/run",
        section = "kernels", filter = { name = said.rows[1].name:upper() } }))))
      assert.equal(said.rows[1].name, filtered.rows[1].name)
      said, failed = call("table", { run = top() .. "/run", section = "kernels",
        filter = { nothing = "x" } })
      assert.is_true(failed)
      assert.matches("^filter: no column 'nothing'; there are ", said)
      said, failed = call("compare", { before = top() .. "/run", after = top() .. "/run" })
      assert.is_false(failed, said)
    end)

    it("say what a question cannot have, and propose no such thing", function()
      for _, name in ipairs { "sql", "trace", "run", "files" } do
        local said = call("query", { run = top() .. "/run", code = name .. "[[x]]" })
        assert.matches(("^llmprof: '%s' is not there in a question\n"):format(name), said)
      end
      local said = call("query", { run = top() .. "/run", code = "help()" })
      assert.matches("\nkernels ", said)
      assert.not_matches("\nsql ", said)
    end)

    it("are not read beyond a size, nor where they are no files", function()
      local path = top() .. "/run/report.md"
      local function read()
        return answers { request("resources/read", { uri = "llmprof://runs/run/report.md" }) }[1]
      end
      assert.is_nil(read().error)
      assert(spawn.run { "truncate", "-s", "3G", path })
      assert.matches("report%.md: larger than ", read().error.message)
      assert(fs.remove(path))
      assert(spawn.run { "mkfifo", path })
      assert.matches("report%.md: not a regular file", read().error.message)
    end)

    it("refuse what could be an option, or does not fit", function()
      for name, arguments in pairs { digest = { run = "--help" },
        table = { run = "x", section = "-f" }, compare = { before = "+x", after = "y" },
        query = { run = "x", code = "1\0" }, runs = { top = 0 } } do
        local said, failed = call(name, arguments)
        assert.is_true(failed, name .. ": " .. said)
      end
      assert.same({ "no tool 'capture'", "error" }, { call("capture", { recipe = "x" }) })
      local said, failed = call("capture", { recipe = "x", settings = { "--config=y" } },
        "--allow-capture")
      assert.is_true(failed, said)
    end)
  end)
end)
