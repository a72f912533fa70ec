#!/usr/bin/env python3
"""DeepSeek-OCR inference, to be profiled: prefill (sam, clip, projector) and decode.

With --model-path a real checkpoint, else the same architecture with random
weights. Without a dataset the images are made from the seed. Each run generates
a fixed number of tokens greedily. Times go to $LLMPROF_WORKLOAD_DIR/metrics.json;
with LLMPROF_OPERATORS=1 the same runs go through torch.profiler instead, into
operators.json. Exit status: 1 failed, 2 usage, 3 PyTorch or a device is missing.
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import os
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import workload_common as common
from workload_clock import check_environment
from workload_common import MISSING, USAGE, WorkloadError
from workload_inputs import Batch, Sample, add_dataset_options, identify, plan_batches
from workload_models import DEEPSEEK_OCR, TINY_OCR, OcrConfig, active_parameters

# Pixels of the CPU-sized model of the tests.
TINY_IMAGE, TINY_TILE = 128, 64


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = common.Parser(description=__doc__.split("\n\n")[0])
    common.add_run_options(parser)
    common.add_model_options(parser)
    group = parser.add_argument_group("DeepSeek-OCR")
    group.add_argument("--loader", choices=["transformers", "native"], default="transformers",
                       help="with --model-path: run the checkpoint's own code, or its weights in "
                            "the built-in architecture")
    group.add_argument("--prompt-tokens", type=common.whole(1), default=8,
                       help="tokens of text, drawn from the seed, around the image's")
    group.add_argument("--image-size", type=common.whole(64), default=1024,
                       help="pixels a side of the whole view, a multiple of 64")
    group.add_argument("--tiles", default="", metavar="CxR",
                       help="also encode the image in columns x rows tiles, as for large pages")
    group.add_argument("--tile-size", type=common.whole(64), default=640,
                       help="pixels a side of a tile, a multiple of 64")
    group.add_argument("--tiny", action="store_true",
                       help="dimensions a CPU gets through in a second: for tests; sets "
                            f"--image-size {TINY_IMAGE} and --tile-size {TINY_TILE}")
    add_dataset_options(parser)
    args = parser.parse_args(argv)
    common.check_options(args)
    check_images(args)
    return args


def check_images(args: argparse.Namespace) -> None:
    if args.tiny:
        args.image_size, args.tile_size = TINY_IMAGE, TINY_TILE
        if args.model_path and args.loader == "transformers":
            raise WorkloadError("--tiny is for random weights", USAGE)
    for option, size in (("--image-size", args.image_size), ("--tile-size", args.tile_size)):
        if size % 64:
            raise WorkloadError(f"{option} {size}: a multiple of 64 is expected", USAGE)
    args.columns, args.rows = parse_tiles(args.tiles)


def parse_tiles(text: str) -> Tuple[int, int]:
    if not text:
        return 0, 0
    numbers = text.lower().split("x")
    if len(numbers) != 2 or not all(n.isdigit() and 0 < int(n) < 100 for n in numbers):
        raise WorkloadError(f"--tiles '{text}': columns x rows, as in 2x3, is expected", USAGE)
    return int(numbers[0]), int(numbers[1])


# ---- images ----

def read_image(path: Any, content: bytes) -> Any:
    """Pixels [3, height, width] from 0 to 1, of a PNG or JPEG file."""
    import torch
    try:
        from PIL import Image
    except ImportError:
        return read_with_torchvision(path, content)
    try:
        with Image.open(io.BytesIO(content)) as encoded:
            image = encoded.convert("RGB")
        raw, (width, height) = bytearray(image.tobytes()), image.size
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise WorkloadError(f"{path}: {error}", USAGE) from error
    pixels = torch.frombuffer(raw, dtype=torch.uint8).view(height, width, 3)
    return pixels.permute(2, 0, 1).to(torch.float32) / 255


def read_with_torchvision(path: Any, content: bytes) -> Any:
    import torch
    try:
        from torchvision.io import ImageReadMode, decode_image
    except ImportError:
        raise WorkloadError(f"{path}: reading images needs Pillow or torchvision: "
                            "pip install pillow", MISSING) from None
    try:
        raw = torch.frombuffer(bytearray(content), dtype=torch.uint8)
        return decode_image(raw, mode=ImageReadMode.RGB).to(torch.float32) / 255
    except (RuntimeError, ValueError) as error:
        raise WorkloadError(f"{path}: {common.first_line(error)}", USAGE) from error


def make_page(seed: int, size: int) -> Any:
    """A page with lines of dark runs on a slightly shaded ground, [3, size, size]."""
    import torch
    dice = torch.Generator().manual_seed(seed)
    ground = torch.linspace(0.92, 1.0, size).expand(size, size)
    line, rows = 16, size // 16
    runs = torch.rand(rows, size // 4, generator=dice) < 0.6
    ink = runs.repeat_interleave(line, 0).repeat_interleave(4, 1)[:size, :size]
    text = (torch.arange(size) % line < 10)[:, None].expand(size, size)
    noise = 0.02 * torch.rand(3, size, size, generator=dice)
    return (torch.where(ink & text, torch.tensor(0.1), ground) - noise).clamp(0, 1)


def fit(pixels: Any, width: int, height: int) -> Any:
    """Scaled to fit, centred on grey, from -1 to 1."""
    import torch
    import torch.nn.functional as F
    scale = min(width / pixels.shape[2], height / pixels.shape[1])
    inner = (max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[2] * scale)))
    image = F.interpolate(pixels[None], size=inner, mode="bilinear", antialias=True,
                          align_corners=False)[0]
    page = torch.full((3, height, width), 0.5)
    top, left = (height - inner[0]) // 2, (width - inner[1]) // 2
    page[:, top:top + inner[0], left:left + inner[1]] = image
    return (page - 0.5) / 0.5


class Loader:
    """Makes the inputs of a batch, and tells what they are."""

    def __init__(self, args: argparse.Namespace, vocabulary: int):
        self.args, self.vocabulary = args, vocabulary

    def __call__(self, batch: Batch) -> Tuple[Any, List[Dict[str, Any]]]:
        import torch
        from deepseek_ocr_model import OcrInputs
        args = self.args
        images, identities = zip(*(self.image(sample) for sample in batch.samples))
        size, tile = args.image_size, args.tile_size
        pixels = torch.stack([fit(image, size, size) for image in images])
        tiles = None
        if args.columns:
            tiles = torch.cat([self.tiles_of(fit(image, args.columns * tile, args.rows * tile))
                               for image in images])
        dice = torch.Generator().manual_seed(args.seed)
        text = torch.randint(0, self.vocabulary, (args.batch, args.prompt_tokens), generator=dice)
        return OcrInputs(pixels, text, tiles, args.columns, args.rows), list(identities)

    def image(self, sample: Sample) -> Tuple[Any, Dict[str, Any]]:
        if sample.path is None:
            page = make_page(sample.seed or 0, self.args.image_size)
            raw = (page * 255).round().byte().permute(1, 2, 0).contiguous()
            return page, identify(sample, bytes(raw.view(-1).tolist()))
        try:
            content = sample.path.read_bytes()
        except OSError as error:
            raise WorkloadError(f"{sample.path}: {error.strerror}", USAGE) from error
        return read_image(sample.path, content), identify(sample, content)

    def tiles_of(self, page: Any) -> Any:
        """[3, rows * t, columns * t] as tiles [rows * columns, 3, t, t]."""
        t = self.args.tile_size
        grid = page.unflatten(1, (self.args.rows, t)).unflatten(3, (self.args.columns, t))
        return grid.permute(1, 3, 0, 2, 4).reshape(-1, 3, t, t)


def views(args: argparse.Namespace) -> List[Dict[str, int]]:
    """What the encoder is given for one sequence: images of so many pixels a side."""
    tiles = args.columns * args.rows
    local = [{"count": tiles, "size": args.tile_size}] if tiles else []
    return local + [{"count": 1, "size": args.image_size}]


# ---- the model ----

def architecture(config: OcrConfig) -> Dict[str, Any]:
    """The decoder's dimensions, and the encoder's with their module before the name."""
    plain = dataclasses.asdict(config.decoder)
    for part in ("sam", "clip"):
        for name, value in dataclasses.asdict(getattr(config, part)).items():
            plain[f"{part}_{name}"] = list(value) if isinstance(value, tuple) else value
    return plain


def describe(args: argparse.Namespace, config: OcrConfig, total: int,
             decoder: int) -> Dict[str, Any]:
    """The model as metrics.json tells it."""
    return {
        "name": "DeepSeek-OCR",
        "variant": "tiny" if args.tiny else "3B-MoE-A570M",
        "weights": "checkpoint" if args.model_path else "random",
        "parameters": {"total": total, "active": active_parameters(config.decoder, decoder),
                       "decoder": decoder},
        "architecture": architecture(config),
    }


def build(args: argparse.Namespace, device: Any, dtype: Any, prompt_tokens: int,
          pictures: int) -> Tuple[Any, Dict[str, Any]]:
    """The session and the model's identity."""
    import torch
    from deepseek_ocr_model import DeepseekOcr
    from workload_decoder import check_grouped, count_parameters, expert_paths, materialise
    from workload_engine import DecoderSession
    config = TINY_OCR if args.tiny else DEEPSEEK_OCR
    static = args.compile != "off" or args.cuda_graph == "on"
    with torch.device("meta"):
        model = DeepseekOcr(config, args.attention, expert_paths(args.experts, static))
    known = describe(args, config, count_parameters(model), count_parameters(model.decoder))
    if args.model_path and args.loader == "transformers":
        return build_remote(args, device, dtype, config, known, pictures)
    if args.experts == "grouped":
        check_grouped(device, dtype)
    if args.model_path:
        from deepseek_ocr_checkpoint import check_native
        check_native(args.model_path, config)
    materialise(model, device, dtype, args.seed)
    if args.model_path:
        from deepseek_ocr_checkpoint import load_native
        load_native(args, model)
    return DecoderSession(args, model.decoder, model.embed, prompt_tokens), known


def build_remote(args: argparse.Namespace, device: Any, dtype: Any, config: OcrConfig,
                 known: Dict[str, Any], pictures: int) -> Tuple[Any, Dict[str, Any]]:
    """The same for a checkpoint that runs its own code."""
    from deepseek_ocr_checkpoint import RemoteSession, describe_loaded, load_remote
    model = load_remote(args, device, dtype)
    session = RemoteSession(args, model, pictures)
    return session, describe_loaded(model, args.model_path, known, config)


def main(argv: Optional[Sequence[str]] = None) -> None:
    args = parse(sys.argv[1:] if argv is None else argv)
    batches = plan_batches(args)
    check_environment()
    common.require_torch()
    import workload_engine as engine
    from deepseek_ocr_model import image_tokens
    device, dtype = engine.start(args)
    pictures = image_tokens(args.image_size, args.tile_size, args.columns, args.rows)
    prompt_tokens = args.prompt_tokens + pictures
    session, model = build(args, device, dtype, prompt_tokens, pictures)
    loader = Loader(args, model["architecture"]["vocab_size"])
    loop = engine.Loop(args, session, batches, loader, device)
    engine.execute("deepseek_ocr", args, loop, model,
                   {"prompt_tokens": prompt_tokens, "image_tokens": pictures,
                    "images": views(args)})


if __name__ == "__main__":
    sys.exit(common.run(main))
