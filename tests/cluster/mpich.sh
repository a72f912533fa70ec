#!/usr/bin/env bash
# llmprof ranks under MPICH's mpiexec: the bytes of one process; and beside Open MPI, each
# launcher with its own plugin of the two on one path, and with the other's. Skipped (77)
# where MPICH is not there.
set -euo pipefail
llmprof=$1 plugins=$2
. tests/cluster/common.sh

[[ -e $plugins/libllmprof_mpi_mpich.so ]] || skip "no plugin for MPICH was built"
command -v mpiexec.mpich >/dev/null || skip "no mpiexec.mpich"

# under LAUNCHER COUNT COMMAND...: as mpi.sh has it
under() {
  local launcher=(mpiexec.mpich)
  rm -f "$work"/each.*
  if [[ $1 == openmpi ]]; then launcher=(mpirun.openmpi --oversubscribe -x "work=$work"); fi
  work=$work OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 120 \
    "${launcher[@]}" -n "$2" tests/cluster/each.sh "${@:3}" 2>"$work/launcher" || return $?
}

under mpich 1 true || skip "mpiexec does not start a process here: $(head -1 "$work/launcher")"

one_process

for count in 1 2 3 4; do
  under mpich "$count" "$llmprof" ranks "$FILES" --out "$work/$count/out" >"$work/$count.txt"
  same "$count"
done

[[ -e $plugins/libllmprof_mpi_openmpi.so ]] || exit 0
under openmpi 1 true || exit 0

under openmpi 2 "$llmprof" ranks "$FILES" --out "$work/beside/out" >"$work/beside.txt"
same beside

# refused LAUNCHER PLUGIN LIBRARY: one line says whose plugin it is.
refused() {
  local status=0
  LLMPROF_MPI=$plugins/libllmprof_mpi_$2.so under "$1" 2 "$llmprof" ranks "$FILES" \
    >/dev/null || status=$?
  ((status == 3)) || fail "$2 under $1: exit status $status"
  grep -q "started 2 processes, but $3 in .* knows of 1" "$work"/each.*.err ||
    fail "$2 under $1: $(cat "$work"/each.*.err)"
}

refused mpich openmpi "Open MPI"
refused openmpi mpich MPICH
