"""The walk over Python's frames against what the interpreter tells of them:
test_python.py LIBRARY [WALKS]. Walks are made as torch makes its launches,
without the GIL (ctypes.CDLL releases it), and with it."""
import asyncio
import ctypes
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
from typing import Any, List

ON = 2
RELEASED = ctypes.CDLL(sys.argv[1])
HELD = ctypes.PyDLL(sys.argv[1])
WALKS = int(sys.argv[2]) if len(sys.argv) > 2 else 6000
for library in (RELEASED, HELD):
    library.walk.restype = ctypes.c_uint32
    library.walk_inner.restype = ctypes.c_uint32
    library.walk_why.restype = ctypes.c_char_p
    library.walk_ns.restype = ctypes.c_double
failures: List[str] = []
counts = {"walks": 0, "none": 0}


def begin():
    until = time.monotonic() + 20
    while RELEASED.walk_begin() == 1 and time.monotonic() < until:
        time.sleep(0.001)
    return RELEASED.walk_begin()


def frames_of(stack):
    """(file, line, function, root, path), the outermost first."""
    out, text = [], ctypes.create_string_buffer(8192)
    while stack:
        stack = HELD.walk_inner(ctypes.c_uint32(stack), text, ctypes.c_size_t(8192))
        file, line, function, root, path = text.value.decode().split("\n")
        out.append((file, int(line), function, root, path))
    return out[::-1]


def check(what, wanted, got):
    if wanted != got:
        failures.append(what)
        print(f"{what}:\n  wanted {wanted}\n  got    {got}", flush=True)


def look(library=RELEASED):
    """One walk; the same lines twice, so that they agree to the line."""
    stack, there = library.walk(), traceback.extract_stack(); counts["walks"] += 1  # noqa: E702
    if not stack:
        counts["none"] += 1
        return
    there = [(f.filename, f.lineno, f.name) for f in there]
    got = [(file, line, function.rsplit(".", 1)[-1])
           for file, line, function, _, _ in frames_of(stack)]
    check("stack", there[-190:], got[-190:])


# ---- ways to be called ----

def deep(n, function):
    return deep(n - 1, function) if n else function()


def generates(function):
    yield function()
    yield function()


def delegates(function):
    yield from generates(function)


async def awaits(function):
    await asyncio.sleep(0)
    function()


class Thing:
    def method(self, function):
        return [function() for _ in range(2)]

    @property
    def lazy(self):
        look()

    def __del__(self):
        look()


def throws(function):
    try:
        raise ValueError
    except ValueError:
        function()
    finally:
        function()


def ways(function):
    function()
    deep(30, function)
    for _ in delegates(function):
        function()
    sorted([2, 1], key=lambda _: function() or 0)
    list(map(lambda _: function(), [1, 2]))
    Thing().method(function)
    _ = Thing().lazy
    throws(function)
    asyncio.run(awaits(function))
    made = compile("def g(f):\n\n  f()\ng(f)", "<made \u00e4\u4e2d\U0001f600>", "exec")
    exec(made, {"f": function})
    deep(250, function)


def traced(function):
    sys.settrace(lambda *_: None)
    try:
        ways(function)
    finally:
        sys.settrace(None)


def with_greenlets():
    try:
        import greenlet
    except ImportError:
        return print("greenlet: not there")
    main = greenlet.getcurrent()

    def other():
        deep(5, look)
        main.switch()
        look()
    inner = greenlet.greenlet(other)
    deep(3, inner.switch)
    look()
    deep(7, inner.switch)


def in_threads(function, count=5):
    threads = [threading.Thread(target=function) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# ---- torch's modules ----

SOURCE = '''
class Module:
    def __init__(self):
        self._modules = {}
    def add(self, name, module):
        self._modules[name] = module
        return module
    def _wrapped_call_impl(self, *args, **kwargs):
        return self._call_impl(*args, **kwargs)
    def _call_impl(self, *args, **kwargs):
        return self.forward(*args, **kwargs)
    __call__ = _wrapped_call_impl
'''


def torch_module():
    file = "/site-packages/torch/nn/modules/module.py"
    module = types.ModuleType("torch.nn.modules.module")
    exec(compile(SOURCE, file, "exec"), module.__dict__)
    return module.Module


Module: Any = torch_module()


class Leaf(Module):
    def forward(self, function):
        return function()


class Block(Module):
    def __init__(self):
        super().__init__()
        self.proj = self.add("proj", Leaf())

    def forward(self, function):
        self.proj(function)
        function()


class Model(Module):
    def __init__(self, layers=3):
        super().__init__()
        self.layers = self.add("layers", Module())
        self.blocks = [self.layers.add(str(i), Block()) for i in range(layers)]

    def forward(self, function):
        for block in self.blocks:
            block(function)
        function()


def modules_of(model, function):
    """The modules that walks in a model's call tell."""
    seen = []
    model(lambda: seen.append(function()))
    return [frames_of(stack)[-1][3:] for stack in seen]


def named(model, function):
    """As soon as a thread of the library's has named them."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        got = modules_of(model, function)
        if all(root for root, _ in got):
            return got
        time.sleep(0.01)
    return got


def test_modules():
    wanted = []
    for i in range(3):
        wanted += [("Model", f"layers.{i}.proj"), ("Model", f"layers.{i}")]
    wanted.append(("Model", ""))
    model = Model()
    for library in (RELEASED, HELD):
        check("modules", wanted, named(model, library.walk))
    check("inside", "layers.1.proj", modules_of(model, RELEASED.walk)[2][1])
    # in another model now
    outer = Model(0)
    outer.blocks = [outer.add("inner", model)]
    until = time.monotonic() + 10
    while time.monotonic() < until:
        got = named(outer, RELEASED.walk)
        if got[0][1] == "inner.layers.0.proj":
            break
        time.sleep(0.1)
        Model(1)(RELEASED.walk)  # another that is to be named
    check("outside", "inner.layers.0.proj", got[0][1])


def test_dying_modules():
    """A module at the address of one that died has its own name."""
    wrong = 0
    for i in range(200):
        model = Model(0)
        leaf = Leaf()
        model.blocks = [model.add(f"leaf{i}", leaf)]
        got = named(model, RELEASED.walk) if i < 5 else modules_of(model, RELEASED.walk)
        names = {path for _, path in got if path}
        wrong += any(path != f"leaf{i}" for path in names)
        del model, leaf
        gc.collect()
    check("dying modules", 0, wrong)


# ---- code that dies ----

def one_of_code(i):
    names = {}
    exec(compile("\n" * (i % 97) + f"def g{i}(f): return f()\n", f"/gen{i}.py", "exec"), names)
    stack = names[f"g{i}"](RELEASED.walk)
    got = frames_of(stack)[-1][:3] if stack else None
    return got == (f"/gen{i}.py", i % 97 + 1, f"g{i}")


def dying(count):
    return sum(not one_of_code(i) for i in range(count))


# Of names that come again, so that tables do not fill.
def one_again(i):
    k = i % 500
    names = {}
    exec(compile("\n" * (k % 97) + f"def g{k}(f): return f()\n", f"/gen{k}.py", "exec"), names)
    stack = names[f"g{k}"](RELEASED.walk)
    got = frames_of(stack)[-1][:3] if stack else None
    return got == (f"/gen{k}.py", k % 97 + 1, f"g{k}")


def test_dying_code(walks):
    wrong = []

    def some():
        wrong.append(sum(not one_again(i) for i in range(walks // 6)))
    in_threads(some)
    some()
    check("dying code", 0, sum(wrong))
    print(f"dying code: {walks // 6 * 6} walks, {sum(wrong)} wrong")


# ---- processes ----

def test_fork():
    if hasattr(os, "fork"):
        pid = os.fork()
        if pid == 0:
            os._exit(0 if deep(4, lambda: RELEASED.walk() != 0) else 3)
        check("fork", 0, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def test_exits():
    """Walks until the interpreter ends, and in threads that outlive it."""
    code = """
import ctypes, sys, threading, time, atexit
lib = ctypes.CDLL(sys.argv[1])
while lib.walk_begin() == 1: time.sleep(0.001)
def forever():
    while True: lib.walk()
for _ in range(3): threading.Thread(target=forever, daemon=True).start()
atexit.register(lib.walk)
time.sleep(0.02)
"""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(code)
        file.flush()
        for _ in range(4):
            done = subprocess.run([sys.executable, file.name, sys.argv[1]], timeout=60)
            check("exit", 0, done.returncode)


def test_subinterpreter():
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        try:
            import _interpreters as interpreters
        except ImportError:
            return print("subinterpreters: not there")
    other = interpreters.create(*(["legacy"] if sys.version_info >= (3, 13) else []),
                                **({"isolated": False} if sys.version_info < (3, 13) else {}))
    code = f"import ctypes\nlib = ctypes.CDLL({sys.argv[1]!r})\n" \
           "for _ in range(100): lib.walk()\n"
    check("subinterpreter", None, interpreters.run_string(other, code))
    thread = threading.Thread(target=interpreters.run_string, args=(other, code))
    thread.start()
    thread.join()
    look()
    interpreters.destroy(other)


def main():
    print(sys.version.split()[0], flush=True)
    state = begin()
    if state != ON:
        print("off:", RELEASED.walk_why().decode())
        sys.exit(0 if sys.version_info[:2] not in ((3, 11), (3, 12), (3, 13)) else 1)
    for library in (RELEASED, HELD):
        ways(lambda library=library: look(library))
    in_threads(lambda: ways(look))
    traced(look)
    with_greenlets()
    test_subinterpreter()
    test_modules()
    test_dying_modules()
    test_dying_code(WALKS)
    check("dying code again", 0, dying(500))
    test_fork()
    test_exits()
    for _ in range(3):
        ways(look)
    check("walks without a stack", 0, counts["none"])
    print("ns of a walk:", *(f"{deep(depth, lambda: RELEASED.walk_ns(20000)):.0f} at {depth} more"
                             for depth in (0, 20, 40)))
    print(counts["walks"], "compared;", len(failures), "failed")
    sys.exit(bool(failures))


main()
