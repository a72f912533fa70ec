"""Inputs: which samples are run, in which order. Needs no PyTorch."""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import random
import re
from pathlib import Path
from typing import Any, Dict, List, Optional, Set, Tuple

from workload_common import USAGE, Parser, WorkloadError, file, folder, whole


@dataclasses.dataclass(frozen=True)
class Sample:
    """One input: a file, or one to be made from a seed."""

    name: str
    path: Optional[Path] = None
    seed: Optional[int] = None
    sha256: Optional[str] = None  # what its content must have, where that is known


@dataclasses.dataclass(frozen=True)
class Batch:
    """Samples that run side by side. Numbers count from 1."""

    epoch: int
    number: int
    samples: Tuple[Sample, ...]


def add_dataset_options(parser: Parser) -> None:
    group = parser.add_argument_group("dataset")
    group.add_argument("--dataset-root", type=folder, default=None, metavar="DIR",
                       help="folder of images; without it, images are made from the seed")
    group.add_argument("--subset-filelist", type=file, default=None, metavar="FILE",
                       help="names of the images to use, one a line, relative to the root (or to "
                            "this file, without a root); empty lines and # comments are skipped")
    group.add_argument("--input", action="append", default=[], metavar="[sha256:HEX:]NAME",
                       help="an image to use, and its digest: a file relative to the root (or to "
                            "the current folder, without a root), or synthetic-SEED; can be given "
                            "again; goes before the file list")
    group.add_argument("--fallback-patterns", default="*.png,*.jpg", metavar="GLOBS",
                       help="images to use without a file list: patterns relative to the root, "
                            "separated by commas; ** is any depth")
    group.add_argument("--num-epochs", type=whole(1), default=1,
                       help="times through the sample list")
    group.add_argument("--num-samples-per-epoch", type=whole(0), default=1,
                       help="samples taken each time, rounded up to full batches; a shorter list "
                            "starts again from its beginning; 0 takes all")
    order = group.add_mutually_exclusive_group()
    order.add_argument("--randomize", dest="randomize", action="store_true", default=False,
                       help="take them in an order drawn from the seed, anew each epoch")
    order.add_argument("--no-randomize", dest="randomize", action="store_false",
                       default=argparse.SUPPRESS, help="take them in the order of the list")


def listed_images(filelist: Path, root: Optional[Path]) -> List[Sample]:
    base = root or filelist.parent
    samples = []
    try:
        lines = filelist.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise WorkloadError(f"{filelist}: {error}", USAGE) from error
    for number, line in enumerate(lines, 1):
        name = line.strip()
        if not name or name.startswith("#"):
            continue
        if not (base / name).is_file():
            raise WorkloadError(f"{filelist}:{number}: '{base / name}': no such file", USAGE)
        samples.append(Sample(name, base / name))
    if not samples:
        raise WorkloadError(f"{filelist}: names no image", USAGE)
    return samples


def matching_images(root: Path, patterns: str) -> List[Sample]:
    found: Set[Path] = set()
    for pattern in filter(None, (part.strip() for part in patterns.split(","))):
        try:
            found.update(path for path in root.glob(pattern) if path.is_file())
        except (NotImplementedError, ValueError) as error:
            raise WorkloadError(f"--fallback-patterns '{pattern}': {error}", USAGE) from error
    if not found:
        raise WorkloadError(f"{root}: no file matches --fallback-patterns '{patterns}'", USAGE)
    return [Sample(path.relative_to(root).as_posix(), path) for path in sorted(found)]


def named_sample(word: str, root: Optional[Path]) -> Sample:
    digest, name = None, word
    if word.startswith("sha256:"):
        _, digest, name = (word.split(":", 2) + ["", ""])[:3]
        if len(digest) != 64 or not name:
            raise WorkloadError(f"--input '{word}': sha256:HEX:NAME is expected", USAGE)
    made = re.fullmatch(r"synthetic-(\d+)", name)
    if made:
        return Sample(name, seed=int(made[1]), sha256=digest)
    path = (root or Path()) / name
    if not path.is_file():
        raise WorkloadError(f"--input '{name}': '{path}': no such file", USAGE)
    return Sample(name, path, sha256=digest)


def find_samples(args: argparse.Namespace) -> List[Sample]:
    """The dataset; an empty list when there is none to read."""
    if args.input:
        return [named_sample(word, args.dataset_root) for word in args.input]
    if args.subset_filelist:
        return listed_images(args.subset_filelist, args.dataset_root)
    if args.dataset_root:
        return matching_images(args.dataset_root, args.fallback_patterns)
    if args.num_samples_per_epoch == 0:
        raise WorkloadError("--num-samples-per-epoch 0 takes all of a dataset: "
                            "--dataset-root is missing", USAGE)
    return []


def plan_batches(args: argparse.Namespace) -> List[Batch]:
    """The sampling plan: every batch of every epoch, in order."""
    dataset = find_samples(args)
    wanted = args.num_samples_per_epoch or len(dataset)
    count = -(-wanted // args.batch)
    if not dataset:
        dataset = [Sample(f"synthetic-{args.seed + i}", seed=args.seed + i)
                   for i in range(count * args.batch)]
    dice = random.Random(args.seed)
    batches = []
    for epoch in range(1, args.num_epochs + 1):
        order = dice.sample(dataset, len(dataset)) if args.randomize else dataset
        for number in range(count):
            first = number * args.batch
            picked = tuple(order[i % len(order)] for i in range(first, first + args.batch))
            batches.append(Batch(epoch, number + 1, picked))
    return batches


def identity(name: str, content: bytes) -> Dict[str, Any]:
    """An input as metrics.json tells it."""
    return {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def identify(sample: Sample, content: bytes) -> Dict[str, Any]:
    """The identity of a sample, which is the one that was asked for."""
    known = identity(sample.name, content)
    if sample.sha256 and known["sha256"] != sample.sha256:
        raise WorkloadError(f"input '{sample.name}': its content is not what the list of inputs "
                            "says (sha256)", USAGE)
    return known
