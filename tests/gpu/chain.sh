#!/usr/bin/env bash
# The whole chain on a real GPU: toy_llm and deepseek_ocr.py under nsys and ncu,
# and every summary of llmprof against nsys's own. Skipped (77) where there is no
# GPU, nsys or ncu. Needs the checkout, the program and nothing else:
#
#   LLMPROF=PROGRAM tests/gpu/chain.sh
#
# TOY names a compiled recipes/workloads/toy_llm.cu; without one it is compiled
# with nvcc. PYTHON names a Python with torch. What lacks its workload is left
# out with a message, and the test is skipped when all is.
# shellcheck source=tests/e2e/common.sh
source "$(dirname -- "$0")/../e2e/common.sh"
root=$(realpath -- "$(dirname -- "$0")/../..")
llmprof=$(realpath -m -- "${LLMPROF:-$root/build/dev/bin/llmprof}")
toy=$(realpath -m -- "${TOY:-$root/build/dev/bin/toy_llm}")
python=${PYTHON:-python3}
export NO_COLOR=1
cd "$root"
reports=(cuda_api_sum cuda_gpu_kern_gb_sum cuda_gpu_kern_sum
  cuda_gpu_mem_size_sum cuda_gpu_mem_time_sum cuda_kern_exec_sum
  nvtx_gpu_proj_sum nvtx_kern_sum nvtx_sum)

skip() {
  printf 'skipped: %s\n' "$*"
  exit 77
}


# ---- what is there ----

nvidia-smi -L >/dev/null 2>&1 || skip "no GPU"
[[ -x $llmprof ]] || skip "no $llmprof; LLMPROF=PROGRAM names it"
checks=$("$llmprof" doctor || true)
printf '%s\n' "$checks"
nsys=$(sed -n 's/^ok *nsys  *[0-9.]*, //p' <<<"$checks")
ncu=$(sed -n 's/^ok *ncu  *[0-9.]*, //p' <<<"$checks")
[[ -n $nsys ]] || skip "no nsys"
[[ -n $ncu ]] || skip "no ncu"

# Without the right to read counters the rest of the chain is still tried.
counters=no
if grep -q '^ok *counters ' <<<"$checks"; then counters=yes; fi


# ---- checks ----

# compare BUNDLE: the rows of every report, whatever their order, against nsys's
compare() {
  local trace=$1/nsys/run.sqlite ours=$scratch/ours theirs=$scratch/theirs report
  rm -f -- "$ours"_* "$theirs"_*
  "$llmprof" stats -f csv -o "$ours" -r "$(IFS=, && echo "${reports[*]}")" \
    "$trace" 2>/dev/null
  "$nsys" stats -q -f csv -o "$theirs" \
    -r "$(IFS=, && echo "${reports[*]}")" "$trace" >"$scratch/stats.log" 2>&1 ||
    fail "nsys stats: $(tail -n 3 "$scratch/stats.log")"
  for report in "${reports[@]}"; do
    # nsys leaves an empty file, or none, where there is nothing to report
    if [[ ! -s ${theirs}_$report.csv ]]; then
      same "rows of $report" 1 "$(wc -l <"${ours}_$report.csv")"
    elif ! diff <(sort "${theirs}_$report.csv") <(sort "${ours}_$report.csv") \
      >"$scratch/difference"; then
      fail "$report of $trace: $(head -n 10 "$scratch/difference")"
    fi
  done
  printf '%s: %d reports as nsys stats has them\n' "$trace" "${#reports[@]}"
}


# holds FILE...: files of the bundle that are not empty
holds() {
  local file
  for file in "$@"; do
    [[ -s $bundle/$file ]] || fail "$bundle: no $file"
  done
}


# profile NAME RECIPE SETTING...: a run that must be done, with every file of its
# bundle
profile() {
  local bundle="$scratch/$1"
  "$llmprof" "$2" capture=nsys "out=$bundle" "${@:3}" || fail "$2: exit status $?"
  grep -q '^  "status": "done",$' "$bundle/manifest.json" ||
    fail "$2: the manifest does not say done"
  [[ -s $bundle/nsys/run.nsys-rep || -s $bundle/nsys/run.1.nsys-rep ]] ||
    fail "$2: no report of nsys"
  tests/gpu/validate.sh "$bundle" >"$scratch/validated" ||
    fail "$2: $(grep MISSING "$scratch/validated")"
  holds nsys/cmd.txt nsys/log.txt nsys/run.sqlite ncu/selection.json workload/metrics.json
  grep -q '^## Top Kernels$' "$bundle/kernels.md" || fail "$2: kernels.md has no top kernels"
  grep -q '^Model: ' "$bundle/stakeholder_summary.md" || fail "$2: the summary names no model"
  if [[ $counters == yes ]]; then
    holds ncu/cmd.txt ncu/log.txt ncu/run.ncu-rep ncu/raw.csv ncu/details.csv ncu/sections.txt
    grep -q '"match": "exact"' "$bundle/results.json" ||
      fail "$2: no kernel has the counters of its launches"
  fi
  compare "$bundle"
}


# profile_model NAME RECIPE SETTING...: the same of a model with random weights: what it
# is and what it ran on are said, and its operators are there
profile_model() {
  profile "$@" "python=$python" infer.max_new_tokens=4 infer.repeats=2 mode=light
  local bundle="$scratch/$1" file
  holds workload/operators.json
  grep -q '^| `aten::' "$bundle/operators.md" || fail "$2: operators.md has no operator"
  grep -q 'sha256: ' "$bundle/inputs.yaml" || fail "$2: inputs.yaml lists no input"
  for file in manifest.json env.json; do
    grep -q '"weights": "random"' "$bundle/$file" || fail "$2: $file does not say random weights"
    grep -q '"total": ' "$bundle/$file" || fail "$2: $file counts no parameters"
  done
  grep -q '^# .*(random weights)' "$bundle/stakeholder_summary.md" ||
    fail "$2: the summary's title does not say random weights"
}


# files_of NAME: what lies in a bundle, but for files of the workload's own making
files_of() {
  (cd -- "$scratch/$1" && find . -type f ! -path './workload/*.py' \
    ! -path './*/workload/*' | sort)
}


# ---- runs ----

ran=0

if [[ ! -x $toy ]] && command -v nvcc >/dev/null; then
  toy=$scratch/toy_llm
  nvcc -O2 -std=c++17 -arch=native -o "$toy" recipes/workloads/toy_llm.cu
fi
if [[ -x $toy ]]; then
  profile toy recipes/toy_llm.lua "toy.binary=$toy"
  profile toy_graph recipes/toy_llm.lua "toy.binary=$toy" toy.graph=true
  profile toy_ranges recipes/toy_llm.lua "toy.binary=$toy" \
    nsys.capture_range=nvtx nsys.nvtx_capture=decode \
    nsys.capture_range_end=repeat:2
  [[ -s $scratch/toy_ranges/nsys/run.2.nsys-rep ]] ||
    fail "repeat:2 left no second report"

  # stages of an NVTX domain, in a capture gated by a range of that domain
  profile toy_domain tests/gpu/domain.lua "toy.binary=$toy"
  same "filters of a domain" "LLM@prefill/ LLM@decode/" \
    "$(grep -oE 'LLM@[a-z]+/' "$scratch/toy_domain/ncu/cmd.txt" | paste -sd' ')"

  # counters without a timeline
  if [[ $counters == yes ]]; then
    "$llmprof" recipes/toy_llm.lua "toy.binary=$toy" timeline=off \
      "out=$scratch/toy_counters" || fail "timeline=off: exit status $?"
    grep -q gemv "$scratch/toy_counters/kernels.md" ||
      fail "timeline=off: kernels.md has no kernel"
    [[ ! -e $scratch/toy_counters/nsys/run.sqlite ]] ||
      fail "timeline=off captured one"
  fi
  ran=$((ran + 1))
else
  echo "left out: toy_llm, neither compiled (TOY=PROGRAM) nor nvcc to do it"
fi

if "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  profile_model dsocr recipes/deepseek_ocr.lua
  profile_model alt recipes/alt_llm.lua model.preset=tiny
  same "files of another model's bundle" "$(files_of dsocr)" "$(files_of alt)"

  # what was captured can be kept, and analysed again without a GPU
  "$llmprof" record "$scratch/alt" "$scratch/capture" || fail "record: exit status $?"
  "$llmprof" recipes/alt_llm.lua capture=recorded "recorded=$scratch/capture" \
    "out=$scratch/again" || fail "alt_llm.lua capture=recorded: exit status $?"
  tests/gpu/validate.sh "$scratch/again" || fail "alt_llm.lua capture=recorded: files are missing"
  grep -q 'max_new_tokens: 4' <(sed -n '/^captured_with:/,$p' "$scratch/again/config.yaml") ||
    fail "alt_llm.lua capture=recorded: what it was captured with is not said"
  ran=$((ran + 1))
else
  echo "left out: deepseek_ocr.py, $python has no torch that finds the GPU"
fi

[[ $ran -gt 0 ]] || skip "no workload could run"
