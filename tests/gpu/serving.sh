#!/usr/bin/env bash
# A serving engine for real: vLLM on one, two and all GPUs under load at a Poisson rate, ranks
# of PyTorch, and the curve of latency over load. Skipped (77) where there is no GPU or no vLLM.
#
#   LLMPROF=PROGRAM VLLM=vllm tests/gpu/serving.sh [PART...]
#
# Parts, all of them unless named: dense (one GPU), tensor (a model divided between two),
# experts (a mixture of experts with expert parallelism on all), local and torchrun (as many
# ranks as GPUs), curve (one GPU, no profiler). PYTHON names a Python with PyTorch, OUT a
# folder in which the bundles stay, CAPTURE the capture.
# shellcheck source=tests/e2e/common.sh
source "$(dirname -- "$0")/../e2e/common.sh"
root=$(realpath -- "$(dirname -- "$0")/../..")
llmprof=$(realpath -m -- "${LLMPROF:-$root/build/dev/bin/llmprof}")
vllm=${VLLM:-vllm} python=${PYTHON:-python3} capture=${CAPTURE:-builtin}
out=$(realpath -m -- "${OUT:-$scratch/runs}")
export NO_COLOR=1
# of processes of one machine, whatever networks it has
export GLOO_SOCKET_IFNAME=${GLOO_SOCKET_IFNAME:-lo} NCCL_SOCKET_IFNAME=${NCCL_SOCKET_IFNAME:-lo}
cd "$root"
mkdir -p -- "$out"

skip() {
  printf 'skipped: %s\n' "$*"
  exit 77
}

gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)
((gpus)) || skip "no GPU"
[[ -x $llmprof ]] || skip "no $llmprof; LLMPROF=PROGRAM names it"
parts=("$@")
((${#parts[@]})) || parts=(dense tensor experts local torchrun curve)

# wanted PART GPUS PROGRAM: is it asked for, and can it be? Says so where it cannot.
wanted() {
  [[ " ${parts[*]} " == *" $1 "* ]] || return 1
  if ((gpus < $2)); then
    echo "left out: $1, which takes $2 GPUs; there are $gpus"
    return 1
  elif ! command -v "$3" >/dev/null; then
    echo "left out: $1, no $3"
    return 1
  fi
}

# served MODEL SETTING...: the words for vLLM with one of our models
served() {
  [[ -d $scratch/$1 ]] || "$python" tests/gpu/random_model.py "$scratch/$1" "$1"
  words=("model.path=$scratch/$1" "server.program=$vllm" "${@:2}")
}

# args WORD...: the value of server.args
args() {
  local word list='--load-format,dummy,--max-model-len,"2048",--max-num-seqs,"64"'
  for word in "$@"; do list+=",\"$word\""; done
  printf 'server.args=[%s]' "$list"
}

# profile NAME RANKS RECIPE SETTING...: a run that is done, with its files and its ranks
profile() {
  local bundle=$out/$1 ranks
  printf '==== %s, %s of %d GPUs\n' "$1" "$2" "$gpus"
  "$llmprof" "$3" "out=$bundle" "capture=$capture" "${@:4}" || fail "$1: exit status $?"
  grep -q '^  "status": "done",$' "$bundle/manifest.json" ||
    fail "$1: the manifest does not say done"
  [[ $capture != none ]] || return 0
  for file in nsys/run.sqlite report.md report.html stakeholder_summary.md; do
    [[ -s $bundle/$file ]] || fail "$1: no $file"
  done
  (($2 > 1)) || return 0
  ranks=$("$llmprof" show "$bundle" ranks -f csv | grep -c '^[0-9]')
  same "ranks of $1" "$2" "$ranks"
}

# load NAME: every request was answered, which the report says
load() {
  "$llmprof" -e 'local load = results.load
    assert(load.completed == 96 and load.failed == 0, "requests were not answered")
    print(("%d requests, TTFT p50 %.1f ms, TPOT p50 %.2f ms"):format(load.completed,
      load.ttft.p50_ns / 1e6, load.tpot.p50_ns / 1e6))' "$out/$1" || fail "$1: the load"
}

ran=0
at_rate=(load.rate=16 load.requests=96)

if wanted dense 1 "$vllm"; then
  served dense "$(args)"
  profile dense 1 recipes/vllm_serve.lua "${words[@]}" "${at_rate[@]}"
  load dense
  ran=$((ran + 1))
fi

if wanted tensor 2 "$vllm"; then
  served dense "$(args --tensor-parallel-size 2)"
  profile tensor 2 recipes/vllm_serve.lua "${words[@]}" "${at_rate[@]}"
  load tensor
  ran=$((ran + 1))
fi

if wanted experts 2 "$vllm"; then
  served experts "$(args --tensor-parallel-size "$gpus" --enable-expert-parallel)"
  profile experts "$gpus" recipes/vllm_serve.lua "${words[@]}" "${at_rate[@]}"
  load experts
  ran=$((ran + 1))
fi

for with in local torchrun; do
  if wanted "$with" 2 "$python"; then
    profile "$with" "$gpus" tests/gpu/pairs.lua "python=$python" operators=off \
      "launch.ranks=$gpus" "launch.with=$with"
    ran=$((ran + 1))
  fi
done

if wanted curve 1 "$vllm"; then
  served dense "$(args)"
  port=8000
  "$vllm" serve "$scratch/dense" --host 127.0.0.1 --port "$port" --load-format dummy \
    --max-model-len 2048 --max-num-seqs 64 >"$scratch/server.log" 2>&1 &
  server=$!
  "$python" - "http://127.0.0.1:$port/health" <<'END' || fail "curve: the server is not ready"
import sys, time, urllib.request
for _ in range(600):
    try:
        sys.exit(urllib.request.urlopen(sys.argv[1], timeout=5).status != 200)
    except OSError:
        time.sleep(1)
sys.exit(1)
END
  "$llmprof" sweep recipes/vllm_serve.lua capture=none "run.root=$out" "${words[@]}" \
    "server.url=http://127.0.0.1:$port" load.requests=160 load.slo.ttft_ms=100 \
    load.slo.tpot_ms=10 load.rate=8,16,32,64,128,256 || fail "curve: exit status $?"
  kill "$server"
  wait "$server" || true
  ran=$((ran + 1))
fi

((ran)) || skip "none of ${parts[*]} could run"
