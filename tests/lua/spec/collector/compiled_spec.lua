-- Lines of what torch.compile generated, from torch's own log.
local bundle = require "tests.lua.support.bundle"
local collector = require "llmprof.collector"
local fs = require "llmprof.fs"
local reports = require "llmprof.run.reports"
local trace_file = require "llmprof.trace.file"

local GENERATED = "/tmp/torchinductor_me/ab/cab.py"


-- ---- a spool ----

local function record(kind, format, ...)
  local fields = string.pack("<" .. format, ...)
  local fixed = fields .. ("\0"):rep(-#fields % 8)
  return string.pack("<I4I2I2", 8 + #fixed, kind, 8 + #fixed) .. fixed
end


local function block(sequence, records)
  local function head(sum)
    return string.pack("<c8I2I2I4I4I4i8", "llmspool", 1, 0, sequence, #records, 0, sum)
  end
  local sum = 0xcbf29ce484222325
  for _, bytes in ipairs { head(0), records } do
    for at = 1, #bytes, 8 do sum = (sum ~ string.unpack("<i8", bytes, at)) * 1099511628211 end
  end
  return head(sum) .. records
end


local function text(id, said)
  local bytes = said .. ("\0"):rep(-#said % 8)
  return string.pack("<I4I2I2I4I4", 16 + #bytes, 1, 16, id, #said) .. bytes
end


-- Kernels that lines 6, 8 and 9 of the generated file launched, the first in a function of
-- Triton; that was called from a compiled function.
local function spool()
  local list = { text(1, "k"), text(2, GENERATED), text(3, "call"), text(4, "/m/engine.py"),
    text(5, "Engine.compute"), text(6, "/x/site-packages/triton/runtime/jit.py"), text(7, "run"),
    record(3, "i8I4I4I4I4I4I4I4I4", 1000, 9, 1, 1, 1, 0, 0, 0, 1),
    record(2, "i8i8i8", 1000, 1000000, 1000),
    record(9, "I4I4I4I4I4I4", 1, 4, 5, 30, 0, 0), record(18, "I4I4I4I4", 1, 0, 1, 0),
    record(9, "I4I4I4I4I4I4", 2, 2, 3, 6, 0, 0), record(18, "I4I4I4I4", 2, 1, 2, 0),
    record(9, "I4I4I4I4I4I4", 3, 6, 7, 70, 0, 0), record(18, "I4I4I4I4", 3, 2, 3, 0),
    record(9, "I4I4I4I4I4I4", 4, 2, 3, 8, 0, 0), record(18, "I4I4I4I4", 4, 1, 4, 0),
    record(9, "I4I4I4I4I4I4", 5, 2, 3, 9, 0, 0), record(18, "I4I4I4I4", 5, 1, 5, 0) }
  for i, stack in ipairs { 3, 4, 5 } do
    list[#list + 1] = record(10, "i8i8i8i8I4c92I4I4", 1000 * i, 1000 * i + 500, 0, 0, 1,
      ("\0"):rep(92), stack, 0)
  end
  list[#list + 1] = record(42, "i8i8", 5000, 0)
  return block(0, table.concat(list, "", 1, 9)) .. block(1, table.concat(list, "", 10))
end


-- ---- a log ----

local function entry(head, payload)
  return ("V1128 20:22:07.386000 452 torch/_x.py:1] %s\n\t%s\n"):format(head,
    payload:gsub("\n", "\n\t"))
end


local function stack(...)
  local lines = {}
  for i, place in ipairs { ... } do
    local file, line, name = place:match "^(.*):(%d+) (.*)$"
    lines[i] = ('  File "%s", line %s, in %s\\n    code'):format(file, line, name)
  end
  return '"' .. table.concat(lines, "\\n"):gsub('"', '\\"'):gsub('\\\\"', '\\"') .. '"'
end


local graph = [[
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[8]"):
         # File: /m/norm.py:7 in forward, code: x = x * 2
        mul: "f32[8][1]" = x * 2;  x = None
         # File: /m/norm.py:8 in forward, code: return x + 1
        add: "f32[8][1]" = mul + 1;  mul = None]]

local code = [[
def call(args):
    # a comment
    # Topologically Sorted Source Nodes: [mul, add], Original ATen: [aten.mul, aten.add]
    # [Provenance debug handles] triton_poi_0:1
    raw_stream0 = get_raw_stream(0)
    triton_poi_0.run(x, stream=raw_stream0)
    # [Provenance debug handles] extern_kernels.mm:2
    extern_kernels.mm(x)
    of_nothing(x)]]


local function log()
  local compute = "/m/engine.py:31 compute"
  local add = stack(compute, "/m/model.py:5 forward", "/m/norm.py:8 forward")
  local mul = stack(compute, "/m/model.py:5 forward", "/m/norm.py:7 forward")
  return entry('{"dynamo_output_graph": {"sizes": {}}, "frame_id": 0}', graph)
    .. entry('{"other": {}}', "x\ny")
    .. entry(('{"inductor_output_code": {"filename": "%s"}}'):format(GENERATED), code)
    .. entry('{"artifact": {"name": "inductor_provenance_tracking_kernel_stack_traces", '
      .. '"encoding": "json"}}', ('{"triton_poi_0:1": [%s, %s], "extern_kernels.mm:2": [%s]}')
      :format(add, mul, stack(compute)))
end


describe("lines of torch.compile", function()
  local top = bundle.scratch(before_each, after_each)

  local function lines_with(said, recorded)
    assert(fs.write(top() .. "/1-2.spool", recorded or spool()))
    if said then
      assert(fs.mkdirs(top() .. "/torch"))
      assert(fs.write(top() .. "/torch/dedicated_log_torch_trace_1.log", said))
    end
    local count, why = collector.gather(top(), top() .. "/all")
    assert.equal(1, count)
    local trace <close> = trace_file.open(top() .. "/all")
    local list, gpu = {}, assert(trace:frame "gpu")
    local modules = {}
    for i = 1, #gpu do
      list[i] = gpu:get(i, "line") .. " " .. gpu:get(i, "function")
      modules[i] = gpu:get(i, "torch_module") or "?"
    end
    local depths, tree = {}, assert(trace:stack_tree(gpu))
    for i = 1, #tree do depths[tree:get(i, "module") or ""] = tree:get(i, "depth") end
    return list, depths, why, modules
  end

  it("are those of the program that a kernel was made of", function()
    local list, depths = lines_with(log())
    assert.same({ "m/norm.py:8 forward", "m/engine.py:31 compute",
      "torch.compile/cab.py:9 call" }, list)
    assert.equal(1, depths["m/model.py:5"])
    assert.equal(2, depths["m/norm.py:8"])
  end)

  it("are counted apart where they stay", function()
    lines_with(log())
    local _, results = reports.make { paths = { top() .. "/all" }, settings = {},
      root = top() .. "/runs", quiet = true }
    local stage = results.lines.stages[1]
    assert.same({ 1000, 500, 1500 }, { stage.line_ns, stage.generated_ns, stage.gpu_ns })
  end)

  it("stay where torch told nothing, or what is no log", function()
    local generated = { "torch.compile/cab.py:6 call", "torch.compile/cab.py:8 call",
      "torch.compile/cab.py:9 call" }
    assert.same(generated, lines_with())
    assert.same(generated, lines_with((log():gsub('": %[".*', '": {}'))))
    assert.same(generated, lines_with "V1 x] {\n\t{\n\0")
  end)

  it("come from the graph where torch kept no stacks", function()
    assert.same({ "m/norm.py:8 forward", "torch.compile/cab.py:8 call",
      "torch.compile/cab.py:9 call" }, lines_with((log():gsub('{"triton_poi_0:1.*', "{}\n"))))
  end)

  it("have the module whose parameter the last operation takes that has one", function()
    local weight = "l_self_modules_layers_modules_0_modules_a_b_parameters_weight_"
    local said = log():gsub("x %* 2;", "x * " .. weight .. ";  " .. weight .. "_ = None;")
    local _, _, _, modules = lines_with(said)
    assert.same({ "layers.*.a_b", "?", "?" }, modules)
  end)

  -- Torch logs the code of its cache, without handles and with stacks of nothing; vLLM the graph
  -- of each piece before that.
  it("come from vLLM's piece where the code is one of a cache", function()
    local cached = code:gsub("[^\n]*Provenance[^\n]*", "    # nothing")
    local said = entry('{"graph_dump": {"name": "vllm_submod_2"}}', graph)
      .. entry(('{"inductor_output_code": {"filename": "%s"}}'):format(GENERATED), cached)
      .. entry('{"artifact": {"name": "inductor_provenance_tracking_kernel_stack_traces", '
        .. '"encoding": "json"}}', ""):gsub("\n\t\n", "\n")
      .. entry('{"graph_dump": {"name": "vllm_submod_4"}}', "    def forward(self): pass")
    local list, _, why = lines_with(said)
    assert.same({ "m/norm.py:8 forward", "torch.compile/cab.py:8 call",
      "torch.compile/cab.py:9 call" }, list)
    assert.same({}, why)
  end)

  it("stay where the log is cut, which is said", function()
    local list, _, why = lines_with(log():sub(1, -20))
    assert.equal("torch.compile/cab.py:6 call", list[1])
    assert.matches("lines that torch.compile generated are kept as they are: torch's log: ",
      why[1], 1, true)
    assert.equal(1, #why)
  end)

  -- The last block is torn: what torch told counts all the same.
  it("are told of a program that was killed, too", function()
    local list = lines_with(log(), spool() .. block(2, text(9, "torn")):sub(1, -9))
    assert.equal("m/norm.py:8 forward", list[1])
  end)

  it("are refused where a block cannot hold them", function()
    local made = { file = "/g.py", line = 1 }
    for i = 1, 1000 do made[i] = { file = "/m.py", line = i, name = "f" } end
    local list = {}
    for i = 1, 1100 do list[i] = made end
    local made_of, message, failure = require("llmprof.spool").generated(list)
    assert.same({ nil, "limit" }, { made_of, failure })
    assert.matches("1100 lines take 17626", message, 1, true)
  end)

  it("are asked for unless the user has said how", function()
    local env = collector.environment("/l.so", { folder = "/d", sources = "auto" })
    assert.equal("/d/torch", env.TORCH_TRACE)
    assert.equal("1", env.INDUCTOR_PROVENANCE)
    env = collector.environment("/l.so", { folder = "/d", sources = "native" })
    assert.is_nil(env.TORCH_TRACE)
  end)
end)
