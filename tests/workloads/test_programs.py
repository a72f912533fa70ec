"""Both programs from the command line to metrics.json, on the CPU."""

import hashlib
import json
import unittest

import support  # finds the programs
import causal_lm
import deepseek_ocr
import workload_common as common

OCR = ("--device", "cpu", "--tiny", "--dtype", "fp32", "--new-tokens", "5", "--warmup", "0")
CAUSAL = ("--device", "cpu", "--dtype", "fp32", "--new-tokens", "5", "--warmup", "0",
          "--prompt-tokens", "12")


@support.needs_torch
class Runs(support.Case):
    def run_main(self, main, *words):
        out = support.call_main(main, words, {"LLMPROF_WORKLOAD_DIR": str(self.folder)})
        return self.written(), out

    def said(self, main, *words):
        metrics, _ = self.run_main(main, *words, "--repeats", "1")
        return metrics["repeats"][0]["output_sha256"]

    def test_deepseek_ocr(self):
        metrics, out = self.run_main(deepseek_ocr.main, *OCR, "--repeats", "2")
        self.assertEqual(metrics["model"]["name"], "DeepSeek-OCR")
        self.assertEqual(metrics["model"]["weights"], "random")
        self.assertEqual(metrics["model"]["dtype"], "fp32")
        self.assertEqual(metrics["model"]["architecture"]["n_routed_experts"], 8)
        self.assertEqual(metrics["model"]["architecture"]["sam_width"], 32)
        self.assertEqual(
            [metrics[key] for key in ("batch", "prompt_tokens", "image_tokens", "new_tokens")],
            [1, 15, 7, 5])
        self.assertEqual([entry["name"] for entry in metrics["inputs"]], ["synthetic-0"])
        self.assertEqual(metrics["environment"]["device"], "cpu")
        self.assertIsNone(metrics["environment"]["driver"])
        first, second = metrics["repeats"]
        self.assertEqual([(r["index"], r["sample"], r["repeat"], r["inputs"])
                          for r in (first, second)], [(1, 1, 1, [0]), (2, 1, 2, [0])])
        self.assertEqual(first["output_sha256"], second["output_sha256"])
        self.assertEqual(list(first["stages"]),
                         ["prefill", "sam", "clip", "projector", "decode"])
        decode = first["stages"]["decode"]
        self.assertEqual((decode["tokens"], decode["steps"], len(decode["steps_ms"])), (4, 4, 4))
        self.assertIsNone(decode["gpu_ms"])
        self.assertIsNone(decode["steps_gpu_ms"])
        self.assertEqual(first["stages"]["prefill"]["tokens"], 15)
        parts = sum(first["stages"][name]["ms"] for name in ("sam", "clip", "projector"))
        self.assertLess(parts, first["stages"]["prefill"]["ms"])
        self.assertLessEqual(sum(decode["steps_ms"]), decode["ms"])
        self.assertEqual(out.count("repeat "), 2)

    def test_one_token_needs_no_decode(self):
        metrics, _ = self.run_main(deepseek_ocr.main, *OCR, "--new-tokens", "1")
        self.assertNotIn("decode", metrics["repeats"][0]["stages"])

    def test_a_dataset(self):
        from PIL import Image
        for name, grey in (("b.png", 200), ("a.png", 40)):
            Image.new("L", (90, 50), grey).save(self.folder / name)
        metrics, _ = self.run_main(
            deepseek_ocr.main, *OCR, "--dataset-root", str(self.folder), "--num-epochs", "2",
            "--num-samples-per-epoch", "0", "--repeats", "1")
        self.assertEqual([entry["name"] for entry in metrics["inputs"]], ["a.png", "b.png"])
        content = (self.folder / "a.png").read_bytes()
        self.assertEqual(metrics["inputs"][0]["sha256"], hashlib.sha256(content).hexdigest())
        self.assertEqual([(r["epoch"], r["sample"], r["inputs"]) for r in metrics["repeats"]],
                         [(1, 1, [0]), (1, 2, [1]), (2, 1, [0]), (2, 2, [1])])

    def test_a_batch(self):
        metrics, _ = self.run_main(deepseek_ocr.main, *OCR, "--batch", "2", "--tiles", "2x1")
        run = metrics["repeats"][0]
        self.assertEqual(run["inputs"], [0, 1])
        self.assertEqual(run["stages"]["prefill"]["tokens"], 2 * metrics["prompt_tokens"])
        self.assertEqual(run["stages"]["decode"]["tokens"], 8)
        self.assertEqual(run["stages"]["sam"]["count"], 2)

    def test_ways_to_run_say_the_same(self):
        expected = self.said(deepseek_ocr.main, *OCR)
        for words in (("--attention", "eager"), ("--kv-cache", "static"),
                      ("--kv-cache", "static", "--experts", "gather"),
                      ("--experts", "grouped"), ("--sync-per-token", "off", "--warmup", "1")):
            with self.subTest(words=words):
                self.assertEqual(self.said(deepseek_ocr.main, *OCR, *words), expected)
        self.assertNotEqual(self.said(deepseek_ocr.main, *OCR, "--seed", "1"), expected)

    def test_compiled_steps_say_the_same(self):
        words = (*CAUSAL, "--preset", "tiny_moe")
        self.assertEqual(self.said(causal_lm.main, *words, "--compile", "default"),
                         self.said(causal_lm.main, *words))

    def test_causal_lm(self):
        metrics, _ = self.run_main(causal_lm.main, *CAUSAL, "--preset", "tiny", "--batch", "3",
                                   "--name", "mine")
        self.assertEqual((metrics["model"]["name"], metrics["model"]["variant"]),
                         ("mine", "dense"))
        self.assertEqual(metrics["model"]["parameters"],
                         {"total": 158016, "active": 125248, "decoder": 158016})
        self.assertEqual((metrics["prompt_tokens"], metrics["image_tokens"]), (12, 0))
        stages = metrics["repeats"][0]["stages"]
        self.assertEqual((stages["prefill"]["tokens"], stages["decode"]["tokens"]), (36, 12))

    def test_a_configuration(self):
        config = self.write("model/config.json", json.dumps({
            "model_type": "qwen3", "vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 1,
            "num_attention_heads": 2, "head_dim": 8, "intermediate_size": 48}))
        metrics, _ = self.run_main(causal_lm.main, *CAUSAL, "--model-config", str(config))
        self.assertEqual((metrics["model"]["name"], metrics["model"]["variant"]),
                         ("model", "qwen3"))

    def test_a_window_is_a_limit(self):
        config = self.write("config.json", json.dumps({
            "model_type": "mistral", "vocab_size": 64, "hidden_size": 32,
            "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 48,
            "sliding_window": 16}))
        self.fails(common.USAGE, "12 prompt and 5 new tokens: the model's context is 16",
                   causal_lm.main, [*CAUSAL, "--model-config", str(config)])

    def test_nothing_is_written_unasked(self):
        out = support.call_main(causal_lm.main, (*CAUSAL, "--preset", "tiny"),
                                {"LLMPROF_WORKLOAD_DIR": ""})
        self.assertIn("repeat 1", out)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_gpu_that_is_not_there(self):
        import torch
        if torch.cuda.is_available():
            count = torch.cuda.device_count()
            self.fails(common.MISSING, f"--device cuda:{count}: there are {count} GPUs, numbered "
                       "from 0", causal_lm.main,
                       ["--preset", "tiny", "--device", f"cuda:{count}"])
        else:
            self.fails(common.MISSING, f"PyTorch {torch.__version__} finds no GPU ({{}}); "
                       "--device cpu needs none", causal_lm.main, ["--preset", "tiny"])

    def test_as_a_program(self):
        status, stdout, stderr = support.run_program(
            "causal_lm.py", *CAUSAL, "--preset", "tiny",
            environment={"LLMPROF_WORKLOAD_DIR": str(self.folder)})
        self.assertEqual((status, stderr), (0, ""))
        self.assertIn("tiny decoder: 0.2 M parameters, random weights, fp32, cpu", stdout)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["metrics.json"])


@support.needs_torch
class Copied(support.Case):
    def test_the_folder_runs_anywhere(self):
        import shutil
        import subprocess
        import sys
        shutil.copytree(support.PROGRAMS, self.folder / "programs")
        link = self.folder / "deepseek_ocr.py"
        link.symlink_to(self.folder / "programs" / "deepseek_ocr.py")
        done = subprocess.run([sys.executable, "-I", str(link), *OCR, "--repeats", "1"],
                              cwd="/", text=True, capture_output=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
