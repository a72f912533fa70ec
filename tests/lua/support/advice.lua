-- Results tables for the specs of advice rules, and what a rule says of one as
-- text that can be read.
local advice = require "llmprof.advice"

local support = {}


local function with(defaults, given)
  for key, value in pairs(given or {}) do defaults[key] = value end
  return defaults
end


-- A decode of 10 steps that takes 100 ms, of which the GPU works 80 ms.
function support.decode(given)
  return with({
    name = "decode", wall = { count = 1, mean_ns = 100e6 }, instances = {},
    gpu_busy_ns = 80e6, gpu_idle_ns = 20e6, gpu_time_ns = 80e6, idle_share = 0.2,
    kernels = 1000, launches = 1000, copies = 0, tokens = 10, steps = 10,
    kernels_per_token = 100,
    api = { launch = { calls = 1000, ns = 9e6 }, sync = { calls = 0, ns = 0 },
      memory = { calls = 0, ns = 0 }, other = { calls = 0, ns = 0 } },
    waiting = { launch_ns = 8e6, sync_ns = 0, memory_ns = 0, other_ns = 0, host_ns = 12e6 },
  }, given)
end


-- The same, of which the GPU works 20 ms only.
function support.slow_decode(given)
  return with(support.decode { gpu_busy_ns = 20e6, gpu_idle_ns = 80e6, gpu_time_ns = 20e6,
    idle_share = 0.8,
    waiting = { launch_ns = 30e6, sync_ns = 2e6, memory_ns = 1e6, other_ns = 3e6,
      host_ns = 44e6 } }, given)
end


-- A kernel of decode: 100 calls of 10 us.
function support.kernel(given)
  local kernel = with({ id = 1, name = "k", stage = "decode", category = "other", calls = 100,
    mean_ns = 10000 }, given)
  kernel.short_name = kernel.short_name or kernel.name
  kernel.label = kernel.label or kernel.short_name
  kernel.total_ns = kernel.total_ns or kernel.calls * kernel.mean_ns
  return kernel
end


-- Results with these parts, else of a program in PyTorch without any stage or kernel.
function support.results(given)
  return with({ stages = {}, kernels = {}, missing = {}, environment = {},
    framework = { name = "pytorch", title = "PyTorch" } }, given)
end


local function finding_text(finding)
  local lines = { ("%s (%s, confidence %s)"):format(finding.title, finding.stage or "no stage",
    finding.confidence) }
  for _, item in ipairs(finding.evidence) do
    lines[#lines + 1] = ("- %s (%s)"):format(item.text, item.source)
  end
  lines[#lines + 1] = "try: " .. finding.try
  for _, change in ipairs(finding.changes or {}) do lines[#lines + 1] = "change: " .. change end
  if finding.assumption then lines[#lines + 1] = "if " .. finding.assumption end
  if finding.kernels then
    lines[#lines + 1] = "kernels: " .. table.concat(finding.kernels, " ")
  end
  if finding.blocking then lines[#lines + 1] = "blocking" end
  lines[#lines + 1] = ""
  return table.concat(lines, "\n")
end


-- What the rule makes of results: { findings, abstained, silent }.
function support.examined(name, results)
  return advice.apply({ (require("llmprof.advice." .. name)) }, results)
end


-- Why the rule finds nothing in them: a list.
function support.reasons(name, results)
  local reasons = {}
  for i, entry in ipairs(support.examined(name, results).silent) do reasons[i] = entry.why end
  return reasons
end


-- What the rule says of results: its findings, each ending its line, then why it
-- abstains; "" when it has nothing to say.
function support.said(name, results)
  local found = support.examined(name, results)
  local said = {}
  for i, finding in ipairs(found.findings) do said[i] = finding_text(finding) end
  for _, entry in ipairs(found.abstained) do said[#said + 1] = "abstains: " .. entry.why end
  return table.concat(said)
end


return support
