"""Dimensions, and config.json files."""

import dataclasses
import json
import re
import unittest

import support  # finds the programs
import workload_common as common
from workload_models import DEEPSEEK_OCR, PRESETS, active_parameters, decoder_from_file

LLAMA = {"model_type": "llama", "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 2,
         "num_attention_heads": 4, "intermediate_size": 128}


class Config(support.Case):
    def read(self, **changes):
        config = {key: value for key, value in {**LLAMA, **changes}.items() if value != "gone"}
        return decoder_from_file(self.write("config.json", json.dumps(config)))

    def rejects(self, message, **changes):
        path = self.folder / "config.json"
        self.fails(common.USAGE, f"{path}: {message}", lambda: self.read(**changes))

    def test_what_a_file_leaves_out(self):
        family, config = self.read()
        self.assertEqual(family, "llama")
        self.assertEqual((config.num_key_value_heads, config.head_dim, config.rope_theta,
                          config.rms_norm_eps, config.qk_norm, config.n_routed_experts),
                         (4, 16, 10000.0, 1e-6, False, 0))

    def test_families(self):
        self.assertTrue(self.read(model_type="qwen2")[1].qkv_bias)
        self.assertTrue(self.read(model_type="qwen3", head_dim=32)[1].qk_norm)
        self.assertEqual(self.read(model_type="mistral", sliding_window=4096)[1].sliding_window,
                         4096)
        self.assertEqual(self.read(model_type="qwen2", sliding_window=4096,
                                   use_sliding_window=False)[1].sliding_window, 0)
        biased = self.read(attention_bias=True)[1]
        self.assertTrue(biased.qkv_bias and biased.o_bias)

    def test_mixtures_of_experts(self):
        mixtral = self.read(model_type="mixtral", num_local_experts=4)[1]
        self.assertEqual((mixtral.n_routed_experts, mixtral.num_experts_per_tok,
                          mixtral.moe_intermediate_size, mixtral.norm_topk_prob),
                         (4, 2, 128, True))
        qwen = self.read(model_type="qwen3_moe", num_experts=6, num_experts_per_tok=3,
                         moe_intermediate_size=32)[1]
        self.assertEqual((qwen.n_routed_experts, qwen.num_experts_per_tok,
                          qwen.moe_intermediate_size, qwen.norm_topk_prob, qwen.qk_norm),
                         (6, 3, 32, False, True))

    def test_where_the_base_of_positions_is(self):
        self.assertEqual(self.read(rope_theta=5e5)[1].rope_theta, 5e5)
        self.assertEqual(self.read(rope_parameters={"rope_theta": 1e6})[1].rope_theta, 1e6)

    def test_errors_name_the_key(self):
        self.rejects("model_type: 'gpt2' is not one of llama, mistral, qwen2, qwen3, mixtral, "
                     "qwen3_moe; --model-path runs others with transformers", model_type="gpt2")
        self.rejects("vocab_size: missing", vocab_size="gone")
        self.rejects("hidden_size: a whole number is expected, not '64'", hidden_size="64")
        self.rejects("hidden_size: a whole number is expected, not True", hidden_size=True)
        self.rejects("num_hidden_layers: at least 1 is expected", num_hidden_layers=0)
        self.rejects("num_attention_heads: at least 1 is expected", num_attention_heads=0)
        self.rejects("rms_norm_eps: a positive number is expected, not 0", rms_norm_eps=0)
        self.rejects("tie_word_embeddings: true or false is expected, not 1",
                     tie_word_embeddings=1)
        self.rejects("head_dim: 15 is not even", head_dim=15)
        self.rejects("num_key_value_heads: does not divide num_attention_heads",
                     num_key_value_heads=3)
        self.rejects("intermediate_size: at least 1 is expected", intermediate_size=0)
        self.rejects("num_experts_per_tok: not between 1 and the number of experts",
                     model_type="mixtral", num_local_experts=1)
        self.rejects("mlp_bias: biases in feed-forward networks are not known", mlp_bias=True)
        self.rejects("decoder_sparse_step and mlp_only_layers: only models with experts in every "
                     "layer are known", model_type="qwen3_moe", mlp_only_layers=[0])

    def test_files_that_are_none(self):
        for content, message in (("[]", "an object is expected"), ("{", "{}"), ("\0", "{}")):
            path = self.write("config.json", content)
            self.fails(common.USAGE, f"{path}: {message}", decoder_from_file, path)
        self.fails(common.USAGE, "{}no{}", decoder_from_file, self.folder / "no")


class Descriptions(unittest.TestCase):
    """conf/model says of each preset what the program builds."""

    WITHOUT_WEIGHTS = ("rms_norm_eps", "rope_theta", "norm_topk_prob", "router_fp32")

    def described(self, name):
        path = support.ROOT / "conf" / "model" / f"{name}.yaml"
        top, decoder = {}, {}
        for line in path.read_text(encoding="utf-8").splitlines():
            indent, key, value = re.match(r"( *)(\w*):? ?(.*)", line).groups()
            if key and not line.startswith("#"):
                (decoder if indent == "  " else top)[key] = value
        return top, decoder

    def test_presets(self):
        for preset, (name, variant, config) in PRESETS.items():
            with self.subTest(preset):
                top, decoder = self.described(preset)
                self.assertEqual((top["name"], top["variant"]), (name, variant))
                for field, value in decoder.items():
                    self.assertEqual(value, str(getattr(config, field)).lower(), field)
                for field, value in dataclasses.asdict(config).items():
                    if value and field not in self.WITHOUT_WEIGHTS:
                        self.assertIn(field, decoder)


class Figures(unittest.TestCase):
    def test_active_parameters(self):
        # 32 layers of 6 idle experts, 3 matrices of 4096 x 14336 each; the embedding.
        mixtral = PRESETS["mixtral_8x7b"][2]
        self.assertEqual(active_parameters(mixtral, 46702792704),
                         46702792704 - 32 * 6 * 3 * 4096 * 14336 - 32000 * 4096)
        ocr = DEEPSEEK_OCR.decoder
        self.assertEqual(active_parameters(ocr, 2934734080),
                         2934734080 - 11 * 58 * 3 * 1280 * 896 - 129280 * 1280)

    def test_which_layers_have_experts(self):
        ocr = DEEPSEEK_OCR.decoder
        self.assertEqual([ocr.is_moe(layer) for layer in (0, 1, 11)], [False, True, True])
        self.assertFalse(PRESETS["llama3_8b"][2].is_moe(5))


if __name__ == "__main__":
    unittest.main()
