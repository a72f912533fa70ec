-- The GPU does nothing but copy from or to the host, or what goes there comes back. Pageable memory
-- is another rule's.
local evidence = require "llmprof.advice.evidence"

local rule = { name = "host_copies" }

-- From this part of the stage's time on such copies are worth a finding.
local WORTH = 0.05

local OF_HOST = 'direction = { "host to device", "device to host" }'

-- Copies of this size and up that go out and come back are data, not tokens.
local LARGE = 1 << 20


-- Copies to the host after which the CPU waits, and as many bytes go back: how many, and of which
-- size; nil without.
local function through_host(results, stage)
  local function bytes_of(direction)
    local function wanted(row) return row.direction == direction end
    return evidence.copies(results, stage, wanted).bytes
  end
  local out, back = bytes_of "device to host", bytes_of "host to device"
  for _, group in ipairs(out and back and math.abs(out - back) < 1 and stage.waits or {}) do
    if group.before == "copy" and group.after == "copy" and group.calls >= 1
      and (group.bytes or 0) >= LARGE then
      return group.calls, group.bytes
    end
  end
  return nil
end


local function report_through_host(results, stage, calls, bytes, report)
  report.finding {
    title = ("data of %s goes to the host and comes back"):format(stage.name),
    evidence = { evidence.seen("%N{copy} of %B to the host, each followed by a wait and one of as "
      .. "much back; the GPU is idle for %T of %T", calls, bytes, stage.gpu_idle_ns,
      stage.wall.mean_ns) },
    try = ("leave it on the GPU: to another rank by NCCL, an MPI that takes memory of the GPU, or "
      .. "a copy from GPU to GPU; what the CPU computes with it by a kernel%s"):format(
      evidence.remedy(results, " (torch.distributed with the backend nccl)", "")),
    changes = { evidence.without_copies(stage, OF_HOST),
      ('remove(gaps:where { stage = %q, before = "memcpy Device-to-Host", '
        .. 'after = "memcpy Host-to-Device" })'):format(stage.name) },
    assumption = "neither the copies nor what the CPU does between them is left",
  }
end


function rule.examine_stage(results, stage, report)
  if not results.transfers then return report.abstain "there is no timeline" end
  local calls, bytes = through_host(results, stage)
  if calls and evidence.is_held_up(results, stage) then
    return report_through_host(results, stage, calls, bytes, report)
  end
  local alone, time = stage.host_copies_alone_ns, stage.wall.mean_ns
  if not alone then
    return ("copies from or to the host take less than 1 %% of %s"):format(stage.name)
  end
  local copies = evidence.copies(results, stage, evidence.is_of_host)
  local pageable = evidence.copies(results, stage, function(row)
    return row.pageable and evidence.is_of_host(row)
  end)
  local of = pageable.bytes and copies.bytes and "bytes" or "ns"
  if alone < WORTH * time or 2 * pageable[of] >= copies[of] then
    return evidence.say("the GPU does nothing but copy from or to the host for %P of %s",
      evidence.part(alone, time), stage.name)
  end
  local computing = math.max(stage.gpu_busy_ns - alone, 0)
  report.finding {
    title = evidence.say("%s copies from or to the host for %P of its time, and computes nothing "
      .. "meanwhile", stage.name, alone / time),
    evidence = {
      copies.bytes and evidence.seen("%N{copy} of %B, %B/s while they run", copies.calls,
        copies.bytes, copies.bytes / copies.ns * 1e9)
        or evidence.seen("%N{copy}, %T on the GPU", copies.calls, copies.ns),
      evidence.seen("nothing else runs for %T of %T; other work takes %T, which is the most that "
        .. "copying at the same time can hide", alone, time, computing),
    },
    try = "keep on the GPU what is copied each time (weights that are offloaded, a cache that was "
      .. "moved out), or make it smaller (8 bits); copy what comes next on a stream of its own "
      .. "while kernels run",
    changes = { evidence.without_copies(stage, OF_HOST) },
    assumption = evidence.say("nothing is copied; copies during all other work leave %T of them",
      math.max(alone - computing, 0)),
  }
end


return rule
