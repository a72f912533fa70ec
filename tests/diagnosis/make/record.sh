#!/bin/bash
# Records all programs of runs.py on a GPU: record.sh FOLDER [NAME...]
# needs llmprof's portable program in $LLMPROF, Python with PyTorch, and for some of them nsys.
# They import in parallel and take turns on the GPUs; those of two ranks need two. After $UNTIL
# seconds none is begun, and 20 s later none goes on.
set -u
here=$(dirname "$(realpath "$0")")
folder=$(realpath -m "$1")
shift
mkdir -p "$folder"
llmprof=${LLMPROF:-llmprof} nsys=${NSYS:-nsys} python=${PYTHON:-python3}
begun=$(date +%s) until=${UNTIL:-3600}
gpus=$(nvidia-smi -L | wc -l)

ranks() { # COUNT PROGRAM...: as processes of this shell
  local count=$1 rank status=0
  export WORLD_SIZE=$count MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 20000))
  shift
  for ((rank = 0; rank < count; rank++)); do
    RANK=$rank LOCAL_RANK=$rank "$@" &
  done
  for ((rank = 0; rank < count; rank++)); do
    wait -n || {
      status=$?
      jobs -p | xargs -r kill 2>/dev/null
    }
  done
  return $status
}

record() { # NUMBER NAME TOOL RANKS
  local passed=$(($(date +%s) - begun))
  ((passed < until)) || { echo "$2: no time" | tee -a "$folder/done"; return; }
  local out=$folder/$2 program=("$python" "$here/program.py" "$2" --label "$folder/$2.json")
  if [ "$4" = 1 ]; then
    export CUDA_VISIBLE_DEVICES=$(($1 % gpus))
  else
    program=(bash -c 'ranks "$@"' _ "$4" "${program[@]}")
  fi
  local since=$SECONDS limit=(timeout -k 3 $((until + 20 - passed)))
  case $3 in
  collector) "${limit[@]}" "$llmprof" collect -o "$out.spool" -p unit.by=profiler -- "${program[@]}" ;;
  nsys)
    "${limit[@]}" "$nsys" profile -t cuda,nvtx -s none --cpuctxsw=none -c cudaProfilerApi \
      --capture-range-end=stop --cuda-graph-trace=node -f true -o "$out" "${program[@]}" &&
      "$nsys" export -t sqlite -f true -o "$out.sqlite" "$out.nsys-rep"
    ;;
  torch) "${limit[@]}" "${program[@]}" --torch "$out.trace.json" ;;
  esac >"$out.log" 2>&1
  echo "$2 $3 rc $? $((SECONDS - since)) s" | tee -a "$folder/done"
}
export -f record ranks
export folder here llmprof nsys python begun until gpus

"$python" -c '
import sys
sys.path.insert(0, sys.argv[1])
from runs import RUNS
gpus, names = int(sys.argv[2]), sys.argv[3:] or [run.name for run in RUNS]
chosen = [run for run in RUNS if run.name in names
          and (run.shape.ranks <= gpus or run.one_gpu)]
for number, run in enumerate(sorted(chosen, key=lambda run: names.index(run.name))):
    print(number, run.name, run.tool, run.shape.ranks)' "$here" "$gpus" "$@" |
  xargs -P "${JOBS:-6}" -L 1 bash -c 'record "$@"' _
