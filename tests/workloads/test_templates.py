"""What `llmprof new` writes in Python, run as it stands on the CPU."""

import os
import subprocess
import sys
import unittest

import support

TEMPLATES = support.ROOT / "recipes/templates/workloads"
SMALL = ("--dtype", "fp32", "--repeats", "2")


@support.needs_torch
class Templates(support.Case):
    def run_template(self, kind, *words):
        source = (TEMPLATES / f"{kind}.py").read_text(encoding="utf-8")
        program = self.write(f"run_{kind}.py", source.replace("@NAME@", "mine"))
        done = subprocess.run([sys.executable, str(program), *SMALL, *words], text=True,
                              capture_output=True, timeout=300, check=False,
                              env={**os.environ, "LLMPROF_WORKLOAD_DIR": str(self.folder)})
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        metrics = self.written()
        self.assertEqual(2, len(metrics["repeats"]))
        return metrics["repeats"][1]["stages"]

    def test_causal_lm(self):
        stages = self.run_template("causal_lm", "--prompt-tokens", "4", "--max-new-tokens", "3")
        self.assertEqual({"prefill", "decode"}, set(stages))
        self.assertEqual(2, stages["decode"]["steps"])

    def test_encoder(self):
        stages = self.run_template("encoder", "--batch", "2", "--tokens", "4")
        self.assertEqual({"encode"}, set(stages))
        self.assertEqual(8, stages["encode"]["tokens"])

    def test_diffusion(self):
        stages = self.run_template("diffusion", "--prompt-tokens", "4", "--size", "32",
                                   "--steps", "2")
        self.assertEqual({"text_encoder", "denoise", "vae"}, set(stages))
        self.assertEqual(2, stages["denoise"]["steps"])


if __name__ == "__main__":
    unittest.main()
