"""What the workloads share: errors, options, the device, output files.

Nothing here imports PyTorch by itself, so options and paths are checked, and
--help is printed, on a machine without it. docs/workload.md describes the
contract with llmprof and every field of the two files.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.metadata
import json
import os
import platform
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Sequence

SCHEMA_VERSION = 1

# Exit status; those of llmprof itself mean the same.
FAILED, USAGE, MISSING, INTERRUPTED = 1, 2, 3, 130

DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


class WorkloadError(Exception):
    """Something the user can mend: one line on stderr, no traceback."""

    def __init__(self, message: str, status: int = FAILED):
        super().__init__(" ".join(str(message).split()))
        self.status = status


def run(main: Callable[[Sequence[str]], None]) -> int:
    """Run a program's main; the exit status. Defects keep their traceback."""
    name = os.path.basename(sys.argv[0])
    try:
        main(sys.argv[1:])
    except WorkloadError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        print(f"{name}: out of GPU memory: {first_line(error)}", file=sys.stderr)
        return FAILED
    return 0


def first_line(error: BaseException) -> str:
    """An exception in one line: of a long message, the first line that speaks."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


# ---- options ----

class HelpFormatter(argparse.HelpFormatter):
    """Shows defaults, where there is one to show."""

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        if action.default in (None, "", False, argparse.SUPPRESS):
            return text
        return f"{text} (default: %(default)s)".strip()


class Parser(argparse.ArgumentParser):
    """Errors in one line; an empty value is the same as an option not given."""

    def __init__(self, **kwargs: Any):
        kwargs.setdefault("formatter_class", HelpFormatter)
        super().__init__(allow_abbrev=False, **kwargs)

    def error(self, message: str) -> None:  # type: ignore[override]
        raise WorkloadError(f"{message} (--help lists the options)", USAGE)


def whole(least: int) -> Callable[[str], int]:
    """An option's type: a whole number that is not below `least`."""

    def convert(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}': a whole number >= {least} is expected")
        return int(text)

    return convert


def folder(text: str) -> Optional[Path]:
    return existing(text, Path.is_dir, "no such folder")


def file(text: str) -> Optional[Path]:
    return existing(text, Path.is_file, "no such file")


def existing(text: str, test: Callable[[Path], bool], complaint: str) -> Optional[Path]:
    """The type of an option that names what must be there; empty is None."""
    if not text:
        return None
    path = Path(text)
    if not test(path):
        raise argparse.ArgumentTypeError(f"'{text}': {complaint}")
    return path


def add_run_options(parser: Parser) -> None:
    """Options about how the loop is run; both programs have them."""
    group = parser.add_argument_group("run")
    group.add_argument("--device", default="cuda:0", help="cuda:N or cpu")
    group.add_argument("--dtype", choices=sorted(DTYPES), default="bf16",
                       help="what the model computes in")
    group.add_argument("--batch", type=whole(1), default=1, help="sequences side by side")
    group.add_argument("--new-tokens", "--max-new-tokens", type=whole(1), default=64,
                       help="tokens generated per sequence, the first by prefill; generation "
                            "never ends early, so that runs compare")
    group.add_argument("--repeats", type=whole(1), default=2,
                       help="times each sample is run inside the ranges")
    group.add_argument("--warmup", type=whole(0), default=1,
                       help="runs before that, outside the ranges")
    group.add_argument("--seed", type=whole(0), default=0,
                       help="of random weights, made inputs and the order of samples")
    group.add_argument("--trace-out", default="", metavar="FILE",
                       help="operators pass only: also write the Chrome trace here")


def add_model_options(parser: Parser) -> None:
    """Options about how the decoder computes; both programs have them."""
    group = parser.add_argument_group("model")
    group.add_argument("--model-path", type=folder, default=None, metavar="DIR",
                       help="a local checkpoint; without it, random weights")
    group.add_argument("--trust-remote-code", action="store_true",
                       help="run Python code that lies in the checkpoint")
    group.add_argument("--attention", choices=["sdpa", "eager"], default="sdpa",
                       help="torch's fused attention, or its parts one by one")
    group.add_argument("--experts", choices=["loop", "grouped", "gather"], default="loop",
                       help="mixture of experts: one gemm after the other per expert; "
                            "torch's grouped gemm; decode steps by gathering the active "
                            "experts' weights (prefill loops). A loop waits for the GPU in each "
                            "layer, so compiled and captured steps gather instead")
    group.add_argument("--kv-cache", choices=["auto", "dynamic", "static"], default="auto",
                       help="grown by concatenation, or allocated once; auto is dynamic unless "
                            "--compile or --cuda-graph needs a static one")
    group.add_argument("--compile", choices=["off", "default", "reduce-overhead"], default="off",
                       help="torch.compile of the decode step")
    group.add_argument("--cuda-graph", choices=["on", "off"], default="off",
                       help="capture the decode step once and replay it")
    group.add_argument("--sync-per-token", choices=["on", "off"], default="on",
                       help="read each token on the CPU, as a loop that looks for the end of "
                            "the text does; off lets the CPU run ahead of the GPU")


def check_options(args: argparse.Namespace) -> None:
    """What options cannot say one by one."""
    static = args.compile != "off" or args.cuda_graph == "on"
    if args.compile == "reduce-overhead" and args.cuda_graph == "on":
        raise WorkloadError("--compile reduce-overhead makes CUDA graphs itself: "
                            "leave --cuda-graph off", USAGE)
    if args.kv_cache == "dynamic" and static:
        raise WorkloadError("--compile and --cuda-graph need --kv-cache static", USAGE)
    if args.cuda_graph == "on" and args.device == "cpu":
        raise WorkloadError("--cuda-graph on needs a GPU, not --device cpu", USAGE)
    if not re.fullmatch(r"cpu|cuda(:[0-9]{1,3})?", args.device):
        raise WorkloadError(f"--device '{args.device}': cuda:N or cpu is expected", USAGE)
    if args.kv_cache == "auto":
        args.kv_cache = "static" if static else "dynamic"
    if args.trace_out and not operators_wanted():
        raise WorkloadError("--trace-out needs LLMPROF_OPERATORS=1", USAGE)
    if args.trace_out and not Path(args.trace_out).parent.is_dir():
        raise WorkloadError(f"--trace-out '{args.trace_out}': no such folder", USAGE)


def operators_wanted() -> bool:
    return os.environ.get("LLMPROF_OPERATORS") == "1"


def marks_wanted() -> bool:
    """Are the operators to be ranges, in a repeat after those that are measured?"""
    return os.environ.get("LLMPROF_OPERATOR_RANGES") == "1"


def eager_wanted() -> int:
    """In how many repeats after all others is what runs in CUDA graphs to be launched one by
    one?"""
    word = os.environ.get("LLMPROF_EAGER_REPEAT", "")
    return int(word) if word.isdecimal() else 0


def captures_again() -> Optional[int]:
    """After how many repeats CUDA graphs are to be captured again, if at all."""
    count = os.environ.get("LLMPROF_CAPTURE_AGAIN", "")
    return int(count) if count.isdigit() else None


# ---- PyTorch and the device ----

def require_torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        message = (f"PyTorch cannot be imported ({error}): install it for the Python that runs "
                   f"this ({sys.executable}): pip install torch")
        raise WorkloadError(message, MISSING) from error


def require_transformers() -> Any:
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise WorkloadError(f"--model-path needs transformers ({error}): pip install transformers",
                            MISSING) from error


def open_device(torch: Any, name: str) -> Any:
    """The torch.device; says why when a GPU cannot be used."""
    device = torch.device("cuda:0" if name == "cuda" else name)
    if device.type == "cpu":
        return device
    if not torch.cuda.is_available():
        built = torch.version.cuda
        why = f"it was built for CUDA {built}" if built else "it was built without CUDA"
        raise WorkloadError(f"PyTorch {torch.__version__} finds no GPU ({why}; is there a driver, "
                            "and is CUDA_VISIBLE_DEVICES right?); --device cpu needs none", MISSING)
    count = torch.cuda.device_count()
    if device.index >= count:
        raise WorkloadError(f"--device {name}: there are {count} GPUs, numbered from 0", MISSING)
    torch.cuda.set_device(device)
    return device


def version_of(package: str) -> Optional[str]:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def driver_version() -> Optional[str]:
    """As the kernel module tells; None where it does not."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r"Module\s+(?:for \S+\s+)?([0-9]+(?:\.[0-9]+)+)", text)
    return found.group(1) if found else None


def environment(torch: Any, device: Any) -> Dict[str, Any]:
    gpu = torch.cuda.get_device_properties(device) if device.type == "cuda" else None
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": version_of("transformers"),
        "cuda": torch.version.cuda,
        "device": gpu.name if gpu else "cpu",
        "compute_capability": f"{gpu.major}.{gpu.minor}" if gpu else None,
        "device_memory_bytes": gpu.total_memory if gpu else None,
        "driver": driver_version() if gpu else None,
    }


# ---- output files ----

def output_folder() -> Optional[Path]:
    """Where llmprof wants the files; None when it did not start us."""
    name = os.environ.get("LLMPROF_WORKLOAD_DIR")
    if not name:
        if operators_wanted():
            raise WorkloadError("LLMPROF_OPERATORS=1 needs LLMPROF_WORKLOAD_DIR", USAGE)
        return None
    path = Path(name)
    if not path.is_dir() or not os.access(path, os.W_OK):
        raise WorkloadError(f"LLMPROF_WORKLOAD_DIR '{name}': not a folder to write in", USAGE)
    return path


def write_json(path: Path, value: Any) -> None:
    """The file appears complete or not at all."""
    text = json.dumps(value, indent=1, allow_nan=False) + "\n"
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
