#!/bin/bash
# The runs of docs/ledger.md, on a GPU; two of them if there are two:
#
#   ledger.sh before FOLDER  runs without the changes, then FOLDER/predictions.json: commit it
#   ledger.sh after FOLDER   runs with them, and both again in turn, then FOLDER/rows.md
#
# needs llmprof's portable program in $LLMPROF and Python with PyTorch. A run has a GPU and cores of
# its own (turn.py), and PyTorch is there already.
set -u
here=$(dirname "$(realpath "$0")")
phase=$1 folder=$(realpath -m "$2")
mkdir -p "$folder/moe" "$folder/short"
cd "$folder" || exit 1
llmprof=${LLMPROF:-llmprof}
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

run() { # NAME RECIPE OPTION...
  local name=$1 recipe=$2 since=$SECONDS
  shift 2
  case $recipe in
  fp8.lua) set -- "$@" fp8.program="$here/fp8.py" ;;
  pairs.lua) ;;
  *) set -- "$@" infer.max_new_tokens=25 infer.repeats=2 ;;
  esac
  timeout -k 3 "${LIMIT:-60}" "$llmprof" "$recipe" capture=builtin counters=off operators=off \
    collector.samples_hz=0 run.root="$folder" run.id="$name" python="${PYTHON:-$here/turn.py}" \
    "$@" -q >"$name.log" 2>&1
  echo "$name rc $? $((SECONDS - since)) s, at $SECONDS s"
}
export -f run
export here folder llmprof

gpus=$(nvidia-smi -L | wc -l)
taskset -pc "$("$here/turn.py" others)" $$
pair() { # NAME LATE-BY
  PYTHON=python3 run "$1" pairs.lua pairs.program="$here/pairs.py" launch.ranks=2 \
    "pairs.args=[--late-step,0,--late-by,$2]"
}
if [ "$gpus" -gt 1 ] && [ "$phase" = before ]; then
  pair late 40
elif [ "$gpus" -gt 1 ]; then
  pair even 0
  pair late.2 40
  pair even.2 0
fi
"$here/turn.py" serve >serve.log 2>&1 &
server=$!
until grep -q ready serve.log || ! kill -0 $server; do sleep 0.1; done
"$llmprof" exec "$here/ledger.lua" runs "$phase" |
  timeout -k 3 "${S:-600}" xargs -P $((gpus + 1)) -L 1 bash -c 'run "$@"' _
kill $server
if [ "$phase" = before ]; then
  "$llmprof" exec "$here/ledger.lua" predict "$folder" >predictions.json
else
  "$llmprof" exec "$here/ledger.lua" table "$folder" predictions.json >rows.md
fi
