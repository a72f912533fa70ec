#!/bin/bash
# Records all programs of runs.py on a GPU: record.sh FOLDER [NAME...]
# needs llmprof's portable program in $LLMPROF, Python with PyTorch, and for some of them nsys.
# Those of one GPU import in parallel and take turns on it; those of two follow, where there are two.
set -u
here=$(dirname "$(realpath "$0")")
folder=$(realpath -m "$1")
shift
mkdir -p "$folder"
llmprof=${LLMPROF:-llmprof} nsys=${NSYS:-nsys} python=${PYTHON:-python3}

record() { # NAME TOOL RANKS
  local out=$folder/$1 program=("$python" "$here/program.py" "$1" --label "$folder/$1.json")
  [ "$3" = 1 ] || program=("$python" -m torch.distributed.run --nproc-per-node "$3"
    "${program[@]:1}")
  local begun=$SECONDS
  case $2 in
  collector) "$llmprof" collect -o "$out.spool" -p unit.by=profiler -- "${program[@]}" ;;
  nsys)
    "$nsys" profile -t cuda,nvtx -s none --cpuctxsw=none -c cudaProfilerApi \
      --capture-range-end=stop --cuda-graph-trace=node -f true -o "$out" "${program[@]}" &&
      "$nsys" export -t sqlite -f true -o "$out.sqlite" "$out.nsys-rep"
    ;;
  torch) "${program[@]}" --torch "$out.trace.json" ;;
  esac >"$out.log" 2>&1
  echo "$1 $2 rc $? $((SECONDS - begun)) s" | tee -a "$folder/done"
}
export -f record
export folder here llmprof nsys python

list() { # RANKS
  "$python" -c '
import sys
sys.path.insert(0, sys.argv[1])
from runs import RUNS
for run in RUNS:
    if run.shape.ranks == int(sys.argv[2]) and run.name in (sys.argv[3:] or [run.name]):
        print(run.name, run.tool, run.shape.ranks)' "$here" "$@"
}
list 1 "$@" | xargs -P "${JOBS:-6}" -L 1 bash -c 'record "$@"' _
if [ "$("$python" -c 'import torch; print(torch.cuda.device_count())')" -ge 2 ]; then
  list 2 "$@" | xargs -P 1 -L 1 bash -c 'record "$@"' _
fi
