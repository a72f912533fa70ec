#!/bin/bash
# The runs of docs/ledger.md, on a GPU; two of them if there are two:
#
#   ledger.sh before FOLDER  runs without the changes, then FOLDER/predictions.json: commit it
#   ledger.sh after FOLDER   runs with them, and both again in turn, then FOLDER/rows.md, of what is
#                            committed as tests/gpu/predictions.json
#
# needs llmprof's portable program in $LLMPROF and Python with PyTorch. A run has a GPU and cores of
# its own (turn.py), the same before and after. Nothing begins later than $S seconds after the
# first, no run takes more than $LIMIT; what is missing then is said in its row. $OUT: a folder for
# what is to be kept: predictions, rows, logs and results, timelines as SQLite.
set -u
here=$(dirname "$(realpath "$0")")
phase=$1 folder=$(realpath -m "$2")
mkdir -p "$folder/moe" "$folder/short"
cd "$folder" || exit 1
llmprof=${LLMPROF:-llmprof}
began=$(date +%s)
until=$((began + ${S:-$([ "$phase" = before ] && echo 130 || echo 240)}))
cp "$here"/fp8.lua "$here"/pairs.lua .
model() { # FILE TYPE HIDDEN LAYERS KEY-VALUE...
  printf '{"model_type": "%s", "vocab_size": 151936, "hidden_size": %s, "num_hidden_layers": %s,
"num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "rope_theta": 1000000,
"rms_norm_eps": 1e-6, "tie_word_embeddings": false, "max_position_embeddings": 40960, %s}\n' \
    "${@:2}" >"$1"
}
model short/config.json qwen3 4096 6 '"intermediate_size": 12288'
model moe/config.json qwen3_moe 2048 8 '"intermediate_size": 6144, "moe_intermediate_size": 768,
"num_experts": 128, "num_experts_per_tok": 8, "norm_topk_prob": true, "decoder_sparse_step": 1'

at() { echo $(($(date +%s) - began)); }

run() { # NAME RECIPE OPTION...
  local name=$1 recipe=$2 since rc
  since=$(at)
  shift 2
  case $recipe in
  fp8.lua) set -- "$@" fp8.program="$here/fp8.py" ;;
  pairs.lua) ;;
  *) set -- "$@" infer.max_new_tokens=25 infer.repeats=2 ;;
  esac
  case " $* " in
  *" counters=on "*) ;;
  *) set -- "$@" counters=off ;;
  esac
  if [ "$(date +%s)" -ge "$until" ]; then
    echo "$name not begun, at $since s"
    return
  fi
  timeout -k 3 "${LIMIT:-60}" "$llmprof" "$recipe" capture=builtin operators=off \
    collector.samples_hz=0 run.root="$folder" run.id="$name" python="${PYTHON:-$here/turn.py}" \
    "$@" -q >"$name.log" 2>&1
  rc=$?
  echo "$name rc $rc $(($(at) - since)) s, at $(at) s"
}

ledger() { timeout -k 3 "${EACH:-45}" "$llmprof" exec "$here/ledger.lua" "$@"; }

each() { # KIND ARGUMENT...: ledger.lua KIND ARGUMENT... N of every pair, side by side
  # shellcheck disable=SC2016 # of the inner shell
  seq "$(ledger count)" | xargs -P "$(nproc)" -I % bash -c \
    'kind=$1 n=$2 && shift 2 && ledger "$kind" "$@" "$n" >"$kind.$n.json" 2>"$kind.$n.log" ||
      { rm -f "$kind.$n.json"; echo "$kind $n: $(tail -n 1 "$kind.$n.log")"; }' _ "$1" % "${@:2}"
  echo "$1 at $(at) s"
}

export_of() { # NAME...: their timelines, side by side
  local name
  mkdir -p exports
  for name in "$@"; do
    timeout -k 3 40 "$llmprof" export "$folder/$name" -f sqlite -o "exports/$name.sqlite" \
      >"$name.export.log" 2>&1 &&
      gzip -f "exports/$name.sqlite" &
    exporting+=($!)
  done
  wait "${exporting[@]}"
}

exporting=()
export -f at run ledger
export here folder llmprof began until

gpus=$(nvidia-smi -L | wc -l)
[ "$gpus" -gt 0 ] || exit 77
taskset -pc "$("$here/turn.py" others)" $$
pair() { # NAME ARGUMENT,...
  PYTHON=python3 run "$1" pairs.lua pairs.program="$here/pairs.py" launch.ranks=2 "pairs.args=[$2]"
}
late=--late-step,0,--late-by,40 even=--late-by,0 wide=--late-by,0,--tokens,8192
if [ "$gpus" -gt 1 ] && [ "$phase" = before ]; then
  pair late "$late"
  pair wide "$wide"
elif [ "$gpus" -gt 1 ]; then
  pair even "$even"
  pair beside "$wide,--beside"
  pair late.2 "$late"
  pair even.2 "$even"
fi
"$here/turn.py" serve >serve.log 2>&1 &
server=$!
for _ in {1..600}; do
  grep -q ready serve.log && break
  kill -0 $server 2>/dev/null || break
  sleep 0.1
done
lanes=()
for ((gpu = 0; gpu < gpus; gpu++)); do
  # one runs, one reports
  ledger runs "$phase" "$gpu" "$gpus" | TURN=$gpu xargs -P 2 -L 1 bash -c 'run "$@"' _ &
  lanes+=($!)
done
wait "${lanes[@]}"
kill $server 2>/dev/null
if [ "$phase" = before ]; then
  ledger host . >host.json || rm -f host.json
  echo "host at $(at) s"
  each predict .
  ledger gather . >predictions.json
  export_of qwen1 moe1s ocr1s late llama4 products
else
  each row . "$here/predictions.json"
  ledger table . "$here/predictions.json" >rows.md
  cat rows.md
  export_of even beside llama4n products8
fi
if [ -n "${OUT:-}" ]; then # what is sent back
  cp host.json predictions.json rows.md "$OUT" 2>/dev/null
  tar czf "$OUT/$phase.tgz" ./*.log ./*.json ./*/results.json ./*/workload 2>/dev/null
  tar cf "$OUT/exports.tar" exports
  rm -r exports
fi
echo "$phase took $(at) s"
