"""The decoder: its parts agree with each other, and with transformers."""

import dataclasses
import json
import unittest
import unittest.mock

import support  # finds the programs
import workload_common as common
from workload_models import DEEPSEEK_OCR, PRESETS, TINY_OCR, active_parameters, decoder_from_file

if support.HAS_TORCH:
    import torch
    import workload_decoder as decoders
    from deepseek_ocr_model import DeepseekOcr


def randomise(module, scale=0.2):
    """Weights large enough for every part to show in the logits."""
    dice = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(1.0 if parameter.dim() == 1 else 0.0, scale, generator=dice)


def logits_of(decoder, cache, ids, steps):
    """Of prefill and of each step; every step is fed the same tokens, whatever it says."""
    with torch.no_grad():
        found = [decoder(decoder.embed_tokens(ids), cache)]
        for i in range(steps):
            found.append(decoder(decoder.embed_tokens(ids[:, i:i + 1]), cache))
    return torch.stack(found)


def static(config, batch, length):
    return decoders.StaticCache(config, batch, length, torch.device("cpu"), torch.float32)


@support.needs_torch
class Paths(unittest.TestCase):
    """Whatever way a step is computed, it says the same."""

    def compare(self, config):
        dice = torch.Generator().manual_seed(0)
        ids = torch.randint(0, config.vocab_size, (2, 9), generator=dice)
        reference = None
        for attention in ("sdpa", "eager"):
            for experts in (("loop", "loop"), ("loop", "gather"), ("grouped", "grouped")):
                decoder = decoders.Decoder(config, attention, experts)
                randomise(decoder)
                for cache in (decoders.DynamicCache(config.num_hidden_layers),
                              static(config, 2, 64)):
                    logits = logits_of(decoder, cache, ids, 4)
                    reference = logits if reference is None else reference
                    torch.testing.assert_close(logits, reference, rtol=1e-4, atol=1e-4)
        self.assertGreater(reference.std().item(), 0.5)

    def test_dense(self):
        self.compare(PRESETS["tiny"][2])

    def test_mixture_of_experts(self):
        self.compare(PRESETS["tiny_moe"][2])

    def test_shared_experts_behind_a_dense_layer(self):
        self.compare(TINY_OCR.decoder)

    def test_a_step_sees_the_past(self):
        # Prefill of nine tokens, and of four and then five steps, end in the same logits.
        config = PRESETS["tiny"][2]
        decoder = decoders.Decoder(config)
        randomise(decoder)
        ids = torch.arange(9).view(1, 9)
        whole = logits_of(decoder, decoders.DynamicCache(2), ids, 0)[-1]
        for cache in (decoders.DynamicCache(2), static(config, 1, 16)):
            with torch.no_grad():
                decoder(decoder.embed_tokens(ids[:, :4]), cache)
                for i in range(4, 9):
                    last = decoder(decoder.embed_tokens(ids[:, i:i + 1]), cache)
            torch.testing.assert_close(last, whole, rtol=1e-4, atol=1e-4)

    def test_a_cache_forgets(self):
        config = PRESETS["tiny"][2]
        decoder = decoders.Decoder(config)
        randomise(decoder)
        ids = torch.arange(5).view(1, 5)
        for cache in (decoders.DynamicCache(2), static(config, 1, 16)):
            first = logits_of(decoder, cache, ids, 3)
            cache.reset()
            torch.testing.assert_close(logits_of(decoder, cache, ids, 3), first)

    def test_which_path_where(self):
        self.assertEqual(decoders.expert_paths("loop", False), ("loop", "loop"))
        self.assertEqual(decoders.expert_paths("loop", True), ("loop", "gather"))
        self.assertEqual(decoders.expert_paths("gather", False), ("loop", "gather"))
        self.assertEqual(decoders.expert_paths("grouped", True), ("grouped", "grouped"))


@support.needs_torch
class Making(support.Case):
    def test_random_weights_follow_the_seed(self):
        def weights(seed):
            with torch.device("meta"):
                decoder = decoders.Decoder(PRESETS["tiny"][2])
            decoders.materialise(decoder, torch.device("cpu"), torch.bfloat16, seed)
            return decoder

        one = weights(1)
        self.assertEqual({p.dtype for p in one.parameters()}, {torch.bfloat16})
        self.assertEqual(one.norm.weight.unique().tolist(), [1.0])
        self.assertAlmostEqual(one.lm_head.weight.float().std().item(), 0.02, places=3)
        self.assertFalse(any(p.requires_grad for p in one.parameters()))
        self.assertTrue(torch.equal(one.lm_head.weight, weights(1).lm_head.weight))
        self.assertFalse(torch.equal(one.lm_head.weight, weights(2).lm_head.weight))

    def test_tied_weights_stay_tied(self):
        config = dataclasses.replace(PRESETS["tiny"][2], tie_word_embeddings=True)
        with torch.device("meta"):
            decoder = decoders.Decoder(config)
        decoders.materialise(decoder, torch.device("cpu"), torch.float32, 0)
        self.assertIs(decoder.lm_head.weight, decoder.embed_tokens.weight)
        self.assertEqual(decoders.count_parameters(decoder), 158016 - 512 * 64)

    def test_a_grouped_gemm_that_is_not_there(self):
        with unittest.mock.patch.object(decoders, "grouped_gemm", return_value=None):
            self.fails(common.USAGE, f"--experts grouped: PyTorch {torch.__version__} has no "
                       "grouped gemm", decoders.check_grouped, torch.device("cpu"),
                       torch.float32)

        def refuse(*_, **__):
            raise RuntimeError("only bf16\nstack")

        with unittest.mock.patch.object(decoders, "grouped_gemm", return_value=refuse):
            self.fails(common.USAGE, "--experts grouped does not work on this device with this "
                       "dtype: only bf16", decoders.check_grouped, torch.device("cpu"),
                       torch.float32)


@support.needs_torch
class PublishedSizes(unittest.TestCase):
    """Parameters of the full models, counted without memory."""

    def test_presets(self):
        for preset, total in {"llama3_8b": 8030261248, "qwen3_8b": 8190735360,
                              "mixtral_8x7b": 46702792704}.items():
            with torch.device("meta"):
                decoder = decoders.Decoder(PRESETS[preset][2])
            self.assertEqual(decoders.count_parameters(decoder), total, preset)
        # The 12.9 billion that are published count the embedding in.
        self.assertEqual(active_parameters(PRESETS["mixtral_8x7b"][2], total) + 32000 * 4096,
                         12879925248)

    def test_deepseek_ocr(self):
        with torch.device("meta"):
            model = DeepseekOcr(DEEPSEEK_OCR)
        self.assertEqual(decoders.count_parameters(model), 3336106240)
        decoder = decoders.count_parameters(model.decoder)
        self.assertEqual(decoder, 2934734080)
        self.assertEqual(active_parameters(DEEPSEEK_OCR.decoder, decoder), 574127360)
        self.assertEqual(decoders.count_parameters(model.sam_model), 95569152)
        self.assertEqual(decoders.count_parameters(model.vision_model), 303177728)


SIZES = {"vocab_size": 97, "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4,
         "num_key_value_heads": 2, "intermediate_size": 112, "rms_norm_eps": 1e-6}

FAMILIES = {
    "Llama": {"rope_theta": 5e5},
    "Llama biased and tied": {"attention_bias": True, "tie_word_embeddings": True,
                              "head_dim": 32},
    "Mistral": {},
    "Qwen2": {},
    "Qwen3": {"head_dim": 16},
    "Mixtral": {"num_local_experts": 5, "num_experts_per_tok": 2},
    "Qwen3Moe": {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 48,
                 "head_dim": 16, "norm_topk_prob": True},
}


def copy_weights(theirs, own):
    """By name; transformers 5 keeps gate and up of all experts in one tensor."""
    with torch.no_grad():
        for name, target in own.items():
            name = name if name.startswith("lm_head") else f"model.{name}"
            if ".experts." in name and "down_proj" not in name:
                both = theirs[name.rsplit(".", 1)[0] + ".gate_up_proj"]
                gate, up = both.chunk(2, dim=1)
                target.copy_(gate if name.endswith("gate_proj") else up)
            else:
                target.copy_(theirs[name])


@support.needs_transformers
class AgainstTransformers(support.Case):
    def reference(self, family, extra):
        import transformers
        config = getattr(transformers, f"{family}Config")(**{**SIZES, **extra})
        model = getattr(transformers, f"{family}ForCausalLM")(config).eval()
        randomise(model)
        return config, model

    def compare(self, family, extra):
        config, model = self.reference(family, extra)
        path = self.write("config.json", json.dumps(config.to_dict(), default=str))
        _, dimensions = decoder_from_file(path)
        decoder = decoders.Decoder(dimensions, "sdpa", ("loop", "gather"))
        copy_weights(model.state_dict(), decoder.state_dict())
        ids = torch.randint(0, 97, (2, 9), generator=torch.Generator().manual_seed(2))
        with torch.no_grad():
            out = model(ids, use_cache=True)
            expected = [out.logits[:, -1]]
            for i in range(3):
                out = model(ids[:, i:i + 1], past_key_values=out.past_key_values, use_cache=True)
                expected.append(out.logits[:, -1])
        found = logits_of(decoder, static(dimensions, 2, 16), ids, 3)
        torch.testing.assert_close(found, torch.stack(expected), rtol=1e-4, atol=1e-4)
        self.assertGreater(found.std().item(), 0.5)

    def test_families(self):
        for name, extra in FAMILIES.items():
            with self.subTest(family=name):
                self.compare(name.split()[0], extra)


if __name__ == "__main__":
    unittest.main()
