#!/usr/bin/env python3
"""Inference of a causal language model, to be profiled: prefill and decode.

With --model-path any checkpoint that transformers can load; with --model-config
or --preset a decoder of the Llama kind with random weights. The prompt is drawn
from the seed, and a fixed number of tokens is generated greedily. Times go to
$LLMPROF_WORKLOAD_DIR/metrics.json; with LLMPROF_OPERATORS=1 the same runs go
through torch.profiler instead, into operators.json. Exit status: 1 failed, 2
usage, 3 PyTorch, transformers or a device is missing.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import workload_common as common
from workload_clock import check_environment
from workload_common import USAGE, WorkloadError
from workload_inputs import Batch, identity
from workload_models import PRESETS, DecoderConfig, active_parameters, decoder_from_file


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = common.Parser(description=__doc__.split("\n\n")[0])
    common.add_run_options(parser)
    common.add_model_options(parser)
    group = parser.add_argument_group("causal language model")
    group.add_argument("--model-config", type=common.file, default=None, metavar="FILE",
                       help="a config.json: its architecture with random weights")
    group.add_argument("--preset", default="", choices=["", *PRESETS],
                       help="a known architecture with random weights")
    group.add_argument("--name", default="", help="what reports call the model")
    group.add_argument("--prompt-tokens", type=common.whole(1), default=512)
    args = parser.parse_args(argv)
    common.check_options(args)
    given = [option for option in ("model_path", "model_config", "preset")
             if getattr(args, option)]
    if len(given) != 1:
        raise WorkloadError("one of --model-path, --model-config and --preset is needed"
                            + (", not more" if given else ""), USAGE)
    return args


class Loader:
    """The prompt of every batch: token ids [batch, tokens] drawn from the seed."""

    def __init__(self, args: argparse.Namespace, vocabulary: int):
        self.args, self.vocabulary = args, vocabulary

    def __call__(self, batch: Batch) -> Tuple[Any, List[Dict[str, Any]]]:
        import torch
        dice = torch.Generator().manual_seed(self.args.seed)
        shape = (self.args.batch, self.args.prompt_tokens)
        ids = torch.randint(0, self.vocabulary, shape, generator=dice)
        text = "\n".join(" ".join(map(str, row)) for row in ids.tolist())
        return ids, [identity(f"prompt from seed {self.args.seed}", text.encode())]


# ---- random weights ----

def describe(args: argparse.Namespace) -> Tuple[str, str, DecoderConfig]:
    """Name, variant and dimensions of --preset or --model-config."""
    if args.preset:
        name, variant, config = PRESETS[args.preset]
        return args.name or name, variant, config
    family, config = decoder_from_file(args.model_config)
    return args.name or args.model_config.resolve().parent.name, family, config


def build_random(args: argparse.Namespace, device: Any, dtype: Any,
                 described: Tuple[str, str, DecoderConfig]) -> Tuple[Any, Dict[str, Any]]:
    import torch
    import workload_engine as engine
    from workload_decoder import (Decoder, check_grouped, count_parameters, expert_paths,
                                  materialise)
    name, variant, config = described
    engine.check_context(args, args.prompt_tokens, config.sliding_window)
    static = args.compile != "off" or args.cuda_graph == "on"
    if args.experts == "grouped" and config.n_routed_experts:
        check_grouped(device, dtype)
    with torch.device("meta"):
        decoder = Decoder(config, args.attention, expert_paths(args.experts, static))
    total = count_parameters(decoder)
    materialise(decoder, device, dtype, args.seed)

    def embed(ids: Any, stage: Any) -> Any:
        return decoder.embed_tokens(ids.to(device))

    known = {"name": name, "variant": variant, "weights": "random",
             "parameters": {"total": total, "active": active_parameters(config, total),
                            "decoder": total},
             "architecture": dataclasses.asdict(config)}
    return engine.DecoderSession(args, decoder, embed, args.prompt_tokens), known


# ---- a checkpoint ----

def dimensions(config: Any) -> Dict[str, Any]:
    """The numbers of a configuration, and the words that say what they are of."""
    words = ("model_type", "hidden_act", "tie_word_embeddings")
    return {name: value for name, value in config.to_dict().items()
            if name in words or type(value) in (int, float)}


def parameters(args: argparse.Namespace, total: int) -> Dict[str, Any]:
    """Counted; the active ones only of an architecture that comes to the same total."""
    import torch
    from workload_decoder import Decoder, count_parameters
    try:
        _, config = decoder_from_file(args.model_path / "config.json")
    except WorkloadError:
        return {"total": total, "active": None, "decoder": None}
    with torch.device("meta"):
        same = count_parameters(Decoder(config)) == total
    return {"total": total, "active": active_parameters(config, total) if same else None,
            "decoder": total if same else None}


def build_checkpoint(args: argparse.Namespace, device: Any,
                     dtype: Any) -> Tuple[Any, Dict[str, Any]]:
    import workload_engine as engine
    from workload_checkpoint import CausalSession, load_pretrained
    from workload_decoder import count_parameters
    model = load_pretrained("AutoModelForCausalLM", args, device, dtype)
    text = model.config.get_text_config()
    engine.check_context(args, args.prompt_tokens, getattr(text, "max_position_embeddings", 0))
    known = {"name": args.name or args.model_path.resolve().name,
             "variant": model.config.model_type, "weights": "checkpoint",
             "parameters": parameters(args, count_parameters(model)),
             "architecture": dimensions(text)}
    return CausalSession(args, model, args.prompt_tokens), known


def main(argv: Optional[Sequence[str]] = None) -> None:
    args = parse(sys.argv[1:] if argv is None else argv)
    known = describe(args) if not args.model_path else None
    check_environment()
    common.require_torch()
    import workload_engine as engine
    device, dtype = engine.start(args)
    if known:
        session, model = build_random(args, device, dtype, known)
    else:
        session, model = build_checkpoint(args, device, dtype)
    loader = Loader(args, model["architecture"]["vocab_size"])
    loop = engine.Loop(args, session, [Batch(1, 1, ())], loader, device)
    engine.execute("causal_lm", args, loop, model,
                   {"prompt_tokens": args.prompt_tokens, "image_tokens": 0})


if __name__ == "__main__":
    sys.exit(common.run(main))
