-- Kernels whose warps wait for banks of shared memory.
local evidence = require "llmprof.advice.evidence"

-- From this part of the wavefronts of shared memory on, %.
local MANY = 25

-- What shared memory keeps busy, or waiting.
local SHARED = { L1 = true, LSU = true, MIO = true, latency = true, ["some SM unit"] = true,
  ["L2 or L1"] = true }


return evidence.rule_of_kernels {
  name = "bank_conflicts", own_code = true,
  known = function(kernel) return kernel.counters and kernel.counters.bank_conflict_percent end,
  lacking = "bank conflicts were not measured (counters.set=full)",
  worth = 0.03,
  wanted = function(kernel)
    local counters = kernel.counters
    return counters ~= nil and (counters.bank_conflict_percent or 0) >= MANY
      and SHARED[counters.bound] ~= nil
  end,
  title = "kernels of %s have bank conflicts in shared memory",
  note = function(found)
    return "%T in kernels where %d %% of the wavefronts or more come from bank conflicts", found.ns,
      MANY
  end,
  why = function(kernel)
    return (", %.0f %% of the wavefronts, bound by %s"):format(
      kernel.counters.bank_conflict_percent, kernel.counters.bound)
  end,
  try = "rows of shared memory padded by one element, or a swizzled layout",
  saved = function(kernel)
    return kernel.total_ns * kernel.counters.bank_conflict_percent / 100
  end,
  assumption = "their time falls with the wavefronts",
}
