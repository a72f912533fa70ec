#!/usr/bin/env python3
"""A model that vLLM serves with random weights, and a tokenizer of words.

    random_model.py FOLDER dense|experts

dense: a Llama of 1.1 B parameters; experts: a Mixtral of 16 layers with 16 experts, two of
them for each token. Both can be divided among four GPUs. Writes config.json, tokenizer.json
and tokenizer_config.json.
"""
import json
import os
import sys

VOCABULARY = 32000

SHARED = {
    "torch_dtype": "bfloat16", "vocab_size": VOCABULARY, "max_position_embeddings": 4096,
    "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "bos_token_id": 1,
    "eos_token_id": 2, "tie_word_embeddings": False, "num_key_value_heads": 4,
}
KINDS = {
    "dense": {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048,
        "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32,
    },
    "experts": {
        "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_size": 2048,
        "intermediate_size": 1408, "num_hidden_layers": 16, "num_attention_heads": 32,
        "num_local_experts": 16, "num_experts_per_tok": 2, "sliding_window": None,
    },
}


def tokenizer() -> dict:
    words = ["<unk>", "<s>", "</s>"] + [f"w{n}" for n in range(3, VOCABULARY)]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [
            {"id": n, "content": word, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": True} for n, word in enumerate(words[:3])],
        "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "unk_token": "<unk>",
                  "vocab": {word: n for n, word in enumerate(words)}},
    }


def main() -> None:
    if len(sys.argv) != 3 or sys.argv[2] not in KINDS:
        sys.exit(__doc__)
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, value in {
        "config.json": {**SHARED, **KINDS[sys.argv[2]]},
        "tokenizer.json": tokenizer(),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>",
            "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 4096},
    }.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(value, file)


if __name__ == "__main__":
    main()
