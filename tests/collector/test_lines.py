"""Lines of launches in the recording of a program that runs on the stand-ins:
test_lines.py COLLECTOR CUPTI CUDA. The spool is read here, by its format."""
import ctypes
import glob
import os
import struct
import subprocess
import sys
import tempfile
import time
import types

SOURCE = '''
class Module:
    def __init__(self):
        self._modules = {}
    def _wrapped_call_impl(self, *args):
        return self.forward(*args)
    __call__ = _wrapped_call_impl
'''


def program(cuda_path, mode):
    """Launches, whose lines are looked for by their kernels' names."""
    cuda = ctypes.CDLL(cuda_path, mode=ctypes.RTLD_GLOBAL)
    assert cuda.cuInit(0) == 0
    time.sleep(0.3)
    kernels, exec_graphs = [], []

    def launch(name):
        kernels.append(ctypes.c_char_p(name.encode()))
        kernel = (ctypes.c_char_p * 1)(kernels[-1])
        kernels.append(kernel)
        assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None) == 0

    def instantiate(node):
        made, flags = ctypes.c_void_p(), ctypes.c_ulonglong(0)
        assert cuda.cuGraphInstantiateWithFlags(ctypes.byref(made), node, flags) == 0
        exec_graphs.append(made)

    def graph():
        node, outer, none = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t(0)
        cuda.cuGraphAddKernelNode_v2(ctypes.byref(node), None, None, none, None)  # NODE
        instantiate(node)
        cuda.cuGraphAddChildGraphNode(ctypes.byref(outer), None, None, none, node)
        instantiate(outer)

    torch = types.ModuleType("torch.nn.modules.module")
    exec(compile(SOURCE, "/site-packages/torch/nn/modules/module.py", "exec"), torch.__dict__)

    class MLP(torch.Module):
        def forward(self):
            launch("in_mlp")  # MLP
            time.sleep(0.02)

    class Model(torch.Module):
        def __init__(self):
            super().__init__()
            self._modules["mlp"] = MLP()

        def forward(self):
            self._modules["mlp"]()
            launch("in_model")  # MODEL
            graph()

    launch("alone")  # ALONE
    model = Model()
    for _ in range(3):
        model()
    for made in exec_graphs:
        assert cuda.cuGraphLaunch(made, None) == 0
    time.sleep(0.3)


# ---- the recording ----

def records(path):
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        assert data[at:at + 8] == b"llmspool"
        length, = struct.unpack_from("<I", data, at + 16)
        end = at + 32 + length
        at += 32
        while at < end:
            size, kind, fixed = struct.unpack_from("<IHH", data, at)
            yield kind, data[at:at + fixed], data[at + fixed:at + size]
            at += size


def lines_of(path):
    """By kernel: (line, function, root, path) of the innermost frame, and the file."""
    text, frames, stacks, modules, kernels = {0: ""}, {}, {}, {}, []
    for kind, fixed, rest in records(path):
        if kind == 1:
            number, size = struct.unpack_from("<II", fixed, 8)
            text[number] = rest[:size].decode()
        elif kind == 8:
            number, name, root, known = struct.unpack_from("<IIII", fixed, 8)
            modules[number] = (text[root], text[name], known)
        elif kind == 9:
            number, file, function, line, module = struct.unpack_from("<IIIII", fixed, 8)
            frames[number] = (text[file], line, text[function], module)
        elif kind == 18:
            number, parent, frame = struct.unpack_from("<III", fixed, 8)
            assert parent < number
            stacks[number] = (parent, frame)
        elif kind == 10:
            name, = struct.unpack_from("<I", fixed, 40)
            kernels.append((text[name], struct.unpack_from("<I", fixed, 136)[0]))
    found = {}
    for name, stack in kernels:
        frame = frames[stacks[stack][1]] if stack else None
        module = modules.get(frame[3], ("", "", 0)) if frame else None
        found.setdefault(name, set()).add(frame and (frame[1], frame[2], module[0], module[1]))
    found["said"] = any("child graphs" in said for said in text.values())
    return found


def run(collector, cupti, cuda, *plan):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/plan", "w") as file:
            file.write("\n".join((f"cupti = {cupti}",) + plan) + "\n")
        env = dict(os.environ, CUDA_INJECTION64_PATH=collector, LLMPROF_COLLECTOR_DIR=folder,
                   LLMPROF_COLLECTOR_PLAN=folder + "/plan")
        subprocess.run([sys.executable, __file__, "program", cuda, "x"], env=env, check=True,
                       timeout=60)
        spool, = glob.glob(folder + "/*.spool")
        return lines_of(spool)


def line_with(mark):
    with open(__file__) as file:
        return next(i for i, text in enumerate(file, 1) if f"# {mark}\n" in text)


def main(collector, cupti, cuda):
    launched = "program.<locals>.launch"
    call = next(i for i, text in enumerate(open(__file__), 1) if "cuLaunchKernel(kernel" in text)
    wanted = {
        "alone": {(call, launched, "", "")},
        "in_model": {(call, launched, "Model", "")},
        "in_mlp": {(call, launched, "Model", "mlp")},
        "_Z4nodev": {(line_with("NODE"), "program.<locals>.graph", "Model", "")},
        "_Z5innerv": {None},
        "said": True,
    }
    none = dict({name: {None} for name in wanted}, said=False)
    failed, plans = 0, (
        (("sources = python",), wanted),
        (("sources = auto",), wanted),  # by process: CUPTI is there from the start
        (("sources = off",), none),
        (("timeline = kernels",), none),
        (("timeline = kernels", "sources = python"), wanted))
    for plan, expected in plans:
        got = run(collector, cupti, cuda, *plan)
        if got != expected:
            failed += 1
            print(plan, "\n  wanted", expected, "\n  got   ", got)
    print(len(plans), "recordings,", failed, "failed")
    sys.exit(failed != 0)


if sys.argv[1] == "program":
    program(*sys.argv[2:])
else:
    main(*sys.argv[1:])
