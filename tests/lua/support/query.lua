-- A little frame for specs of the query language.
local query = require "llmprof.query"

local declared = {
  { name = "name", type = "string" }, { name = "stage", type = "string" },
  { name = "duration", type = "integer", unit = "ns" }, { name = "rate", type = "number" },
}

local rows = {
  { name = "gemm", stage = "prefill", duration = 4000, rate = 0.5 },
  { name = "add", stage = "decode", duration = 1000, rate = 2.5 },
  { name = "gemm", stage = "decode", duration = 2000 },
  { name = "add", duration = 1000, rate = -1.0 },
  { name = "copy(A*)", stage = "decode", rate = 0.25 },
}

return function() return query.from_rows(rows, declared) end
