#!/usr/bin/env bash
# llmprof ranks under a real Slurm of one node, which this starts: the batch scripts of
# docs/cluster.md give the bytes of one process, and a process that is killed ends the
# others. Skipped (77) where Slurm cannot be started.
set -euo pipefail
llmprof=$(readlink -f -- "$1") plugins=$2
. tests/cluster/common.sh

for tool in slurmctld slurmd srun sbatch munged; do
  command -v "$tool" >/dev/null || PATH=$PATH:/usr/sbin
  command -v "$tool" >/dev/null || skip "no $tool"
done
((EUID == 0)) || skip "slurmd wants to be root"
export SLURM_CONF=$work/slurm.conf
host=$(hostname)

# Daemons run in the foreground, as children of this shell, and are ended by their ids.
daemons=()
cleanup() {
  local pid
  ((${#daemons[@]} == 0)) || scancel --me 2>/dev/null || true
  for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf -- "$work"
}

daemon() {
  "$@" >>"$work/${1##*/}.out" 2>&1 &
  daemons+=($!)
}

# free_ports: two numbers that nothing listens on
free_ports() {
  local port found=0
  for port in $(shuf -i 20000-32000 -n 50); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && continue
    echo "$port"
    ((++found < 2)) || return 0
  done
}

configure() {
  local ports
  mapfile -t ports < <(free_ports)
  cat >"$SLURM_CONF" <<TXT
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
SlurmctldPort=${ports[0]}
SlurmdPort=${ports[1]}
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=60 State=UP
TXT
}

start() {
  mkdir "$work/state" "$work/spool"
  chmod 755 "$work"
  head -c 1024 /dev/urandom >"$work/munge.key"
  chmod 600 "$work/munge.key"
  configure
  daemon munged --force --foreground --key-file="$work/munge.key" \
    --socket="$work/munge.socket" --pid-file="$work/munged.pid" \
    --log-file="$work/munged.log" --seed-file="$work/munged.seed"
  for _ in $(seq 100); do
    [[ ! -S $work/munge.socket ]] || break
    sleep 0.1
  done
  daemon slurmctld -D
  daemon slurmd -D
  timeout 60 srun -n 1 true >"$work/launcher" 2>&1 ||
    skip "Slurm does not start a job here: $(tail -qn 1 "$work/launcher" "$work"/slurm*.out)"
}

# script NAME: the one that docs/cluster.md calls so
script() {
  awk -v name="--job-name=$1" '/^```bash/ {keep = 1; text = ""; next}
    /^```/ {if (keep && index(text, name)) printf "%s", text; keep = 0}
    keep {text = text $0 "\n"}' docs/cluster.md >"$work/$1.sh"
  [[ -s $work/$1.sh ]] || fail "docs/cluster.md has no script $1"
}

start
one_process
PATH=${llmprof%/*}:$PATH

# The array, which needs no MPI.
script shards
sbatch --quiet --wait --array=1-3 --output="$work/shards.%a" \
  --export="ALL,RUN=$FILES,OUT=$work/shards/out" "$work/shards.sh" || fail "the array"
llmprof ranks --merge "$work/shards/out.parts" --out "$work/shards/out" >"$work/shards.txt"
cmp -s "$work/0.txt" "$work/shards.txt" || fail "the array: prints something else"
cmp -s "$work/0/out/results.json" "$work/shards/out/results.json" || fail "the array: other bytes"

# Nothing joins the processes.
status=0
srun -n 2 llmprof ranks "$FILES" 2>"$work/launcher" || status=$?
((status == 3)) || fail "srun without MPI: exit status $status"
[[ $(grep -c "^llmprof: srun started 2 processes and did not join them" "$work/launcher") == 1 ]] ||
  fail "srun without MPI: not one line"

[[ -e $plugins/libllmprof_mpi_openmpi.so ]] || skip "the rest, no plugin for Open MPI was built"
srun --mpi=list 2>&1 | grep -q pmix || skip "the rest, Slurm has no PMIx"

script ranks
for count in 1 2 3 4; do
  sbatch --quiet --wait --nodes=1 --ntasks-per-node="$count" --output="$work/$count.txt" \
    --export="ALL,RUN=$FILES,OUT=$work/$count/out" "$work/ranks.sh" ||
    fail "the batch script, $count processes: $(cat "$work/$count.txt")"
  same "$count"
done

# launch.with=srun: ranks of a workload, without MPI.
mkdir "$work/launched"
# shellcheck disable=SC2016 # for the ranks to expand
python3 recipes/workloads/launch.py --ranks 3 --with srun --logs "$work/launched" -- \
  sh -c 'echo "rank $RANK of $WORLD_SIZE, here $LOCAL_RANK {rank}"' >"$work/launched.txt" ||
  fail "launch.with=srun"
for rank in 0 1 2; do
  [[ $(cat "$work/launched/rank$rank.log") == "rank $rank of 3, here $rank $rank" ]] ||
    fail "launch.with=srun: rank $rank says $(cat "$work/launched/rank$rank.log")"
done

export work
status=0
VICTIM=3 HARM=kill srun --mpi=pmix --kill-on-bad-exit=1 -n 4 tests/cluster/each.sh \
  "$llmprof" ranks "$FILES" --out "$work/killed" 2>"$work/launcher" || status=$?
((status == 137)) || fail "a process was killed: srun's exit status $status"
survivors 0 1 2
[[ ! -e $work/killed ]] || fail "a process was killed, and something was written"
