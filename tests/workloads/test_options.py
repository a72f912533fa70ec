"""Options of both programs, as far as they need no PyTorch."""

import contextlib
import io
import sys
import unittest
from unittest import mock

import support  # finds the programs
import causal_lm
import deepseek_ocr
import workload_common as common


class Ocr(support.Case):
    def rejects(self, message, *words):
        self.fails(common.USAGE, message, deepseek_ocr.parse, words)

    def test_what_the_recipe_hands_on(self):
        args = deepseek_ocr.parse([
            "--device", "cuda:0", "--max-new-tokens", "64", "--batch", "1", "--repeats", "2",
            "--warmup", "1", "--compile", "off", "--cuda-graph", "off", "--model-path", "",
            "--loader", "transformers", "--dataset-root", "", "--subset-filelist", "",
            "--fallback-patterns", "*.png,*.jpg", "--num-epochs", "1",
            "--num-samples-per-epoch", "1", "--no-randomize"])
        self.assertEqual(
            {name: getattr(args, name) for name in (
                "device", "new_tokens", "batch", "repeats", "warmup", "compile", "cuda_graph",
                "kv_cache", "model_path", "loader", "dataset_root", "subset_filelist",
                "fallback_patterns", "num_epochs", "num_samples_per_epoch", "randomize",
                "trust_remote_code", "dtype", "image_size")},
            {"device": "cuda:0", "new_tokens": 64, "batch": 1, "repeats": 2, "warmup": 1,
             "compile": "off", "cuda_graph": "off", "kv_cache": "dynamic", "model_path": None,
             "loader": "transformers", "dataset_root": None, "subset_filelist": None,
             "fallback_patterns": "*.png,*.jpg", "num_epochs": 1, "num_samples_per_epoch": 1,
             "randomize": False, "trust_remote_code": False, "dtype": "bf16",
             "image_size": 1024})

    def test_randomize(self):
        self.assertFalse(deepseek_ocr.parse([]).randomize)
        self.assertTrue(deepseek_ocr.parse(["--randomize"]).randomize)
        self.rejects("argument --no-randomize: not allowed with argument --randomize "
                     "(--help lists the options)", "--randomize", "--no-randomize")

    def test_a_static_cache_where_one_is_needed(self):
        self.assertEqual(deepseek_ocr.parse(["--cuda-graph", "on"]).kv_cache, "static")
        self.assertEqual(deepseek_ocr.parse(["--compile", "default"]).kv_cache, "static")
        self.assertEqual(deepseek_ocr.parse(["--kv-cache", "static"]).kv_cache, "static")
        self.rejects("--compile and --cuda-graph need --kv-cache static",
                     "--compile", "default", "--kv-cache", "dynamic")

    def test_numbers(self):
        self.rejects("argument --batch: '0': a whole number >= 1 is expected "
                     "(--help lists the options)", "--batch", "0")
        for text in ("-1", "1.5", "", "x", "1e3", " 1", "1_0", "٣", "9" * 13):
            with self.subTest(text=text):
                self.rejects("argument --warmup: {}", f"--warmup={text}")

    def test_what_cannot_go_together(self):
        self.rejects("--compile reduce-overhead makes CUDA graphs itself: leave --cuda-graph off",
                     "--compile", "reduce-overhead", "--cuda-graph", "on")
        self.rejects("--cuda-graph on needs a GPU, not --device cpu",
                     "--cuda-graph", "on", "--device", "cpu")
        self.rejects("--trace-out needs LLMPROF_OPERATORS=1", "--trace-out", "t.json")
        self.rejects("--tiny is for random weights", "--tiny", "--model-path", str(self.folder))

    def test_names_that_are_wrong(self):
        self.rejects("--device 'gpu': cuda:N or cpu is expected", "--device", "gpu")
        self.rejects("--device 'cuda:x': cuda:N or cpu is expected", "--device", "cuda:x")
        self.rejects("unrecognized arguments: --bogus (--help lists the options)", "--bogus")
        self.rejects("unrecognized arguments: --repeat=3 (--help lists the options)",
                     "--repeat=3")
        self.rejects("argument --model-path: '/no/such': no such folder "
                     "(--help lists the options)", "--model-path", "/no/such")
        self.rejects("argument --subset-filelist: '/no/such': no such file "
                     "(--help lists the options)", "--subset-filelist", "/no/such")

    def test_sizes_of_images(self):
        self.rejects("--image-size 100: a multiple of 64 is expected", "--image-size", "100")
        self.rejects("--tile-size 65: a multiple of 64 is expected", "--tile-size", "65")
        args = deepseek_ocr.parse(["--tiles", "2x3"])
        self.assertEqual((args.columns, args.rows), (2, 3))
        args = deepseek_ocr.parse(["--tiny"])
        self.assertEqual((args.image_size, args.tile_size, args.columns), (128, 64, 0))
        for text in ("2", "2x", "x3", "0x1", "2x3x4", "100x1", "-1x2"):
            with self.subTest(text=text):
                self.rejects(f"--tiles '{text}': columns x rows, as in 2x3, is expected",
                             f"--tiles={text}")


class Causal(support.Case):
    def rejects(self, message, *words):
        self.fails(common.USAGE, message, causal_lm.parse, words)

    def test_exactly_one_model(self):
        self.rejects("one of --model-path, --model-config and --preset is needed")
        self.rejects("one of --model-path, --model-config and --preset is needed",
                     "--preset", "", "--model-path", "", "--model-config", "")
        self.rejects("one of --model-path, --model-config and --preset is needed, not more",
                     "--preset", "tiny", "--model-path", str(self.folder))

    def test_defaults(self):
        args = causal_lm.parse(["--preset", "llama3_8b"])
        self.assertEqual((args.prompt_tokens, args.new_tokens, args.attention, args.experts),
                         (512, 64, "sdpa", "loop"))

    def test_presets(self):
        self.rejects("argument --preset: invalid choice: 'gpt' {}", "--preset", "gpt")


class Outside(unittest.TestCase):
    """What a user without PyTorch sees."""

    def main(self, *words):
        stderr = io.StringIO()
        with mock.patch.object(sys, "argv", ["/x/deepseek_ocr.py", *words]), \
                contextlib.redirect_stderr(stderr):
            return common.run(deepseek_ocr.main), stderr.getvalue()

    def test_no_torch(self):
        with mock.patch.dict(sys.modules, {"torch": None}):
            status, stderr = self.main()
        self.assertEqual(status, 3)
        self.assertRegex(stderr, r"^deepseek_ocr.py: PyTorch cannot be imported \(.*\): install "
                         r"it for the Python that runs this \(.*\): pip install torch\n$")

    def test_one_line(self):
        status, stderr = self.main("--batch", "no\nnumber")
        self.assertEqual(status, 2)
        self.assertEqual(stderr, "deepseek_ocr.py: argument --batch: 'no number': a whole number "
                         ">= 1 is expected (--help lists the options)\n")

    def test_interrupted(self):
        with mock.patch.object(deepseek_ocr, "parse", side_effect=KeyboardInterrupt):
            self.assertEqual(self.main(), (130, "deepseek_ocr.py: interrupted\n"))

    def test_out_of_memory(self):
        error = type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory.\nTried 2 GiB")
        with mock.patch.object(deepseek_ocr, "parse", side_effect=error):
            status, stderr = self.main()
        self.assertEqual(status, 1)
        self.assertEqual(stderr, "deepseek_ocr.py: out of GPU memory: OutOfMemoryError: CUDA out "
                         "of memory.\n")

    def test_defects_keep_their_traceback(self):
        with mock.patch.object(deepseek_ocr, "parse", side_effect=ZeroDivisionError):
            with self.assertRaises(ZeroDivisionError):
                self.main()

    def test_help(self):
        for program in ("deepseek_ocr.py", "causal_lm.py"):
            status, stdout, stderr = support.run_program(program, "--help")
            self.assertEqual((status, stderr), (0, ""))
            self.assertIn("--cuda-graph {on,off}", stdout)

    def test_as_a_program(self):
        status, stdout, stderr = support.run_program("causal_lm.py", "--preset", "nano")
        self.assertEqual((status, stdout), (2, ""))
        self.assertEqual(stderr.count("\n"), 1)
        self.assertTrue(stderr.startswith("causal_lm.py: argument --preset: invalid choice"))


if __name__ == "__main__":
    unittest.main()
