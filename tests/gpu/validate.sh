#!/usr/bin/env bash
# Is everything there that a bundle holds? A line for each file; exit status 1 when
# one is missing.
#
#   tests/gpu/validate.sh [FOLDER]      the newest run unless given
set -euo pipefail

run=${1:-tmp/stage2/latest}
missing=0

# check NAME: a file, or a folder, that is not empty
check() {
  if [[ -s $run/$1 || -d $run/$1 ]]; then
    printf '%-40s OK\n' "$1"
  else
    printf '%-40s MISSING\n' "$1"
    missing=1
  fi
}

for name in nsys ncu workload manifest.json env.json config.yaml inputs.yaml \
  results.json kernels.md operators.md report.md report.html \
  stakeholder_summary.md; do
  check "$name"
done
for name in cuda_api_sum cuda_gpu_kern_sum cuda_gpu_kern_gb_sum \
  cuda_gpu_mem_size_sum cuda_gpu_mem_time_sum cuda_kern_exec_sum \
  nvtx_gpu_proj_sum nvtx_kern_sum nvtx_sum; do
  check "nsys/summary_$name.csv"
done
exit $missing
