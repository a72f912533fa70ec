#!/usr/bin/env bash
# llmprof ranks under mpirun: the bytes of one process, and what is said when a process
# dies, is silent, or MPI is not what it should be. Skipped (77) where there is no MPI.
set -euo pipefail
llmprof=$1 plugins=$2
. tests/cluster/common.sh

[[ -e $plugins/libllmprof_mpi_openmpi.so ]] || skip "no plugin for Open MPI was built"
command -v mpirun >/dev/null || skip "no mpirun"
mpirun --version 2>/dev/null | grep -q "Open MPI" || skip "mpirun is not Open MPI's"

# mpi COUNT COMMAND...: each process's standard error and exit status in $work/each.RANK
mpi() {
  rm -f "$work"/each.*
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 120 \
    mpirun --oversubscribe -x work="$work" -np "$1" tests/cluster/each.sh "${@:2}" \
    2>"$work/launcher" || return $?
}

mpi 1 true || skip "mpirun does not start a process here: $(head -1 "$work/launcher")"

# Two ranks with communicators, ranks that differ, and four alike.
uneven "$work/uneven"
for FILES in tests/fixtures/nccl2 "$work/uneven" tests/fixtures/ranks4; do
  one_process
  for count in 1 2 3 4; do
    rm -rf "${work:?}/$count"
    mpi "$count" "$llmprof" ranks "$FILES" --out "$work/$count/out" >"$work/$count.txt"
    same "$count"
  done
done

# No folder: said once, and nothing hangs.
status=0
mpi 3 "$llmprof" ranks "$work/empty" --out "$work/none" || status=$?
((status == 4)) || fail "an empty folder: exit status $status"
said=$(cat "$work"/each.*.err | grep "^llmprof: ") || fail "an empty folder"
[[ $said == *": no trace in it" ]] || fail "an empty folder: $said"
[[ $(wc -l <<<"$said") == 1 ]] || fail "an empty folder is said more than once"

# A process is killed when it has its files. mpirun gives the others ten seconds to say so; that of
# Open MPI 5 ends them sooner, whatever it is told.
[[ $(mpirun --version) == *"(Open MPI) "[1-4].* ]] || hasty=yes
status=0
OMPI_MCA_odls_base_sigkill_timeout=10 VICTIM=3 HARM=kill mpi 4 "$llmprof" ranks "$FILES" \
  --out "$work/killed" || status=$?
((status == 137)) || fail "a process is killed: mpirun's exit status $status"
[[ ${hasty-} ]] || survivors 0 1 2
[[ ! -e $work/killed ]] || fail "a process is killed: something was written"

# One that says nothing any more.
status=0
VICTIM=3 HARM=sleep mpi 4 "$llmprof" ranks "$FILES" --out "$work/silent" --patience 8 || status=$?
((status == 1)) || fail "a process is silent: mpirun's exit status $status"
grep -q "process 3 of 4 was not heard of for too long; nothing was written" \
  "$work"/each.*.err || fail "a process is silent: it is not named"
[[ ! -e $work/silent ]] || fail "a process is silent: something was written"

# No plugin; a library that is none; none wanted.
for wrong in "$work/nothing.so" "$work/broken.so"; do
  status=0
  echo "no library" >"$work/broken.so"
  LLMPROF_MPI=$wrong mpi 2 "$llmprof" ranks "$FILES" --out "$work/none" || status=$?
  ((status == 3)) || fail "$wrong: exit status $status"
  [[ $(cat "$work"/each.*.err | grep -c "^llmprof: ") == 1 ]] || fail "$wrong: not one line"
done
LLMPROF_MPI=none mpi 2 "$llmprof" ranks "$FILES" >"$work/twice.txt"
cmp -s "$work/twice.txt" <(cat "$work/one.txt" "$work/one.txt") ||
  [[ $(wc -l <"$work/twice.txt") == $((2 * $(wc -l <"$work/one.txt"))) ]] ||
  fail "LLMPROF_MPI=none: not one process each"

# The launcher of another MPI, which this plugin knows nothing of.
status=0
env PMI_SIZE=2 PMI_RANK=0 LLMPROF_MPI="$plugins/libllmprof_mpi_openmpi.so" \
  OMPI_MCA_ess_singleton_isolated=1 "$llmprof" ranks "$FILES" 2>"$work/other" || status=$?
((status == 3)) || fail "another MPI's launcher: exit status $status"
grep -q "started 2 processes, but Open MPI in .* knows of 1" "$work/other" ||
  fail "another MPI's launcher: $(cat "$work/other")"
