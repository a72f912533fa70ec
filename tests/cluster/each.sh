#!/usr/bin/env bash
# One process of a job: COMMAND..., with its standard error and its exit status kept in
# $work/each.RANK; the one that $VICTIM names comes to the $HARM of victim.lua instead.
# The launcher's SIGTERM is for the command: this waits for it.
trap '' TERM
: "${work:?}"
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}
if [[ $rank == "${VICTIM-}" ]]; then
  read -ra words <<<"$HARM"
  exec "$1" exec tests/cluster/victim.lua "${words[@]}"
fi
"$@" 2>"$work/each.$rank.err"
status=$?
echo "$status" >"$work/each.$rank.status"
exit "$status"
