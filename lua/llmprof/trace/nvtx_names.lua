-- Names of NVTX ranges as NVIDIA's tools take them. Here a range is "text", or
-- "domain:text" in a domain that has a name, as the tools' own reports write it.
local range_name = {}


-- A name as recipes may write it: "domain@text" is "domain:text".
function range_name.canonical(name)
  return (name:gsub("^([^@:%s]+)@([^@]+)$", "%1:%2"))
end


-- Domain (nil for the default one) and text of a name.
function range_name.split(name)
  local domain, text = name:match "^([^:%s]+):(%S.*)$"
  return domain, text or name
end


-- What a stage of that name is to a model: "prefill" for "LLM:prefill", too.
function range_name.role(name)
  return (select(2, range_name.split(name)))
end


-- What means something in a filter of ncu is escaped.
local function escape(text)
  return (text:gsub("[@,%[%]/*+]", "\\%0"))
end


-- A push/pop range as a filter of ncu: "text/" or "domain@text/". is_default:
-- the range is known to be in the default domain, whatever its text looks like.
function range_name.ncu_filter(name, is_default)
  local domain, text = range_name.split(name)
  if is_default then domain, text = nil, name end
  return (domain and escape(domain) .. "@" or "") .. escape(text) .. "/"
end


-- A range as nsys's --nvtx-capture takes it: "text" or "text@domain". A name
-- with "@" is in that form already.
function range_name.nsys_capture(name)
  if name:find "@" then return name end
  local domain, text = range_name.split(name)
  return domain and text .. "@" .. domain or text
end


-- What a step of the stage of that name makes, as texts call it: only decode's is a token.
function range_name.step(name)
  return range_name.role(name) == "decode" and "token" or "step"
end


return range_name
