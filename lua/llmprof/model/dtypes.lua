-- Number formats of weights, caches and products, and what an element takes.
local errors = require "llmprof.process.errors"
local nearest = require "llmprof.tables.suggest"
local sorted_keys = require("llmprof.tables.keys").sorted

local dtypes = {}

-- Bytes per element. Scales of quantised formats are not in it (with groups of
-- 128 they add 1 % to int8 and 3 % to int4), except where the format itself has
-- one of 8 bits per block: 32 numbers in mxfp4 (OCP MX), 16 in nvfp4.
local BYTES = {
  fp64 = 8, fp32 = 4, tf32 = 4, bf16 = 2, fp16 = 2, fp8 = 1, int8 = 1, fp4 = 0.5, int4 = 0.5,
  mxfp4 = 17 / 32, nvfp4 = 9 / 16,
}

-- Spellings of frameworks.
local SPELLINGS = {
  float64 = "fp64", float32 = "fp32", float = "fp32", bfloat16 = "bf16", float16 = "fp16",
  half = "fp16", float8_e4m3fn = "fp8", float8_e5m2 = "fp8", fp8_e4m3 = "fp8", fp8_e5m2 = "fp8",
  e4m3 = "fp8",
}


-- The format's name as used here; an error that lists them for any other.
-- where says what the name is of.
function dtypes.name(given, where)
  local name = SPELLINGS[given] or given
  if BYTES[name] then return name end
  errors.raise("usage", ("%s: no number format '%s'%s"):format(where, tostring(given),
    nearest.suggestion(tostring(given), sorted_keys(BYTES))),
    { hint = "there are: " .. table.concat(sorted_keys(BYTES), ", ") })
end


-- Is it one that weights are quantised to?
function dtypes.is_quantised(name)
  return BYTES[name] <= 1
end


-- Bytes of one element of a format that dtypes.name gave.
function dtypes.bytes(name)
  return BYTES[name]
end


return dtypes
