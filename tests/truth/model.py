"""The model's work of DeepSeek-OCR, from what its metrics.json says of itself."""
from typing import Any, Dict, List

from figures import Figures, mean

BYTES, PEAK, BANDWIDTH = 2, 989.4e12, 4.8e12  # bf16 on an H200, by its datasheet


def decoder(arch: Dict[str, Any]) -> Dict[str, int]:
    """Numbers in the decoder's matrices and norms, by part."""
    width, layers = arch["hidden_size"], arch["num_hidden_layers"]
    dense = arch["first_k_dense_replace"]
    moe = layers - dense
    heads = arch["num_attention_heads"] * arch["head_dim"]
    cached = arch["num_key_value_heads"] * arch["head_dim"]
    return {
        "attention": layers * width * (2 * heads + 2 * cached),
        "dense": dense * 3 * width * arch["intermediate_size"],
        "router": moe * width * arch["n_routed_experts"],
        "expert": moe * 3 * width * arch["moe_intermediate_size"],
        "norms": layers * 2 * width + width,
        "output": width * arch["vocab_size"],
        "cache": layers * 2 * cached,
        "pair": layers * 2 * 2 * heads,
    }


def decode(arch: Dict[str, Any], prompt: int, steps: int) -> List[float]:
    """FLOP and bytes of all steps of one sequence."""
    part, chosen = decoder(arch), arch["num_experts_per_tok"] + arch["n_shared_experts"]
    matrices = part["attention"] + part["dense"] + part["router"] + chosen * part["expert"] \
        + part["output"]
    flops = moved = 0
    for context in range(prompt, prompt + steps):
        flops += 2 * matrices + (context + 1) * part["pair"]
        moved += BYTES * (matrices + part["norms"] + arch["hidden_size"]
                          + (context + 1) * part["cache"])
    return [flops, moved]


def sam(arch: Dict[str, Any]) -> List[int]:
    """FLOP and numbers of weights of the windowed encoder with its convolutions."""
    width, layers, mlp = arch["sam_width"], arch["sam_layers"], arch["sam_mlp_ratio"]
    patch, side = arch["sam_patch_size"], arch["sam_image_size"] // arch["sam_patch_size"]
    tokens, window = side * side, arch["sam_window_size"]
    whole = len(arch["sam_global_attn_indexes"])
    layer = (4 + 2 * mlp) * width * width
    flops = 2 * tokens * (3 * patch * patch * width + layers * layer)
    pairs = whole * tokens * tokens + (layers - whole) * tokens * window * window
    flops += pairs * 2 * 2 * width
    flops += 2 * tokens * width * (whole * 2 * side + (layers - whole) * 2 * window)
    neck = arch["sam_neck_channels"]
    first, second = arch["sam_downsample_channels"]
    flops += 2 * (tokens * (width * neck + 9 * neck * neck) + tokens // 4 * 9 * neck * first
                  + tokens // 16 * 9 * first * second)
    return [flops, 95569152]  # its weights: counted by hand in BY_HAND.md


def clip(arch: Dict[str, Any], tokens: int) -> List[int]:
    width, layers, mlp = arch["clip_width"], arch["clip_layers"], arch["clip_intermediate_size"]
    layer = 4 * width * width + 2 * width * mlp
    return [2 * tokens * layers * layer + layers * tokens * tokens * 2 * 2 * width, 302575616]


def prefill(arch: Dict[str, Any], prompt: int) -> Dict[str, List[float]]:
    """FLOP and bytes of what runs one after the other."""
    part, width = decoder(arch), arch["hidden_size"]
    chosen = arch["num_experts_per_tok"] + arch["n_shared_experts"]
    per_token = part["attention"] + part["dense"] + part["router"] + chosen * part["expert"]
    flops = 2 * prompt * per_token + 2 * part["output"] + prompt * (prompt + 1) // 2 * part["pair"]
    routed = arch["n_routed_experts"]
    read = routed * (1 - (1 - arch["num_experts_per_tok"] / routed) ** prompt)
    numbers = part["attention"] + part["dense"] + part["router"] + part["norms"] + part["output"] \
        + (read + arch["n_shared_experts"]) * part["expert"] + prompt * (width + part["cache"])
    features = (arch["sam_image_size"] // 64) ** 2
    into = arch["clip_width"] + arch["sam_downsample_channels"][-1]
    parts = {"sam": sam(arch), "clip": clip(arch, features + 1),
             "projector": [2 * features * into * width, into * width + width]}
    made = {name: [float(one[0]), float(BYTES * one[1])] for name, one in parts.items()}
    made["decoder"] = [float(flops), BYTES * numbers]
    return made


def floor_ns(flops: float, moved: float) -> float:
    return 1e9 * max(flops / PEAK, moved / BANDWIDTH)


def compute(metrics: Dict[str, Any], plain: List[Dict[str, Any]]) -> Figures:
    """Cost and floor of both stages; their times without the profiler; MFU and MBU."""
    arch, prompt = metrics["model"]["architecture"], metrics["prompt_tokens"]
    parts = prefill(arch, prompt)
    work = {"prefill": [sum(one[0] for one in parts.values()),
                        sum(one[1] for one in parts.values())],
            "decode": decode(arch, prompt, metrics["new_tokens"] - 1)}
    floors = {"prefill": sum(floor_ns(*one) for one in parts.values()),
              "decode": floor_ns(*work["decode"])}
    made: Figures = {}
    for stage, (flops, moved) in work.items():
        time = mean([mean([rep["stages"][stage]["ms"] for rep in run["repeats"]])
                     for run in plain]) or 0
        made[f"{stage}: model FLOP"], made[f"{stage}: model bytes"] = flops, moved
        made[f"{stage}: least time ns"] = floors[stage]
        made[f"{stage}: plain ns"] = time * 1e6
        made[f"{stage}: MFU %"] = 100 * flops / (time / 1e3 * PEAK)
        made[f"{stage}: MBU %"] = 100 * moved / (time / 1e3 * BANDWIDTH)
    steps = [rep["stages"]["decode"]["ms"] / rep["stages"]["decode"]["steps"]
             for run in plain for rep in run["repeats"]]
    made["TPOT, plain ns"] = (mean(steps) or 0) * 1e6
    return made
