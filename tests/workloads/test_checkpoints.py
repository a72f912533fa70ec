"""Checkpoints: of transformers, of DeepSeek-OCR's own code, and their weights alone."""

import contextlib
import io
import json
import struct
import unittest
from unittest import mock

import support  # finds the programs
import causal_lm
import deepseek_ocr
import workload_common as common
from workload_models import TINY_OCR

if support.HAS_TORCH:
    import torch
    import workload_checkpoint as checkpoint
    from deepseek_ocr_checkpoint import place
    from deepseek_ocr_model import DeepseekOcr
    from workload_decoder import materialise

CPU = ("--device", "cpu", "--dtype", "fp32", "--new-tokens", "5", "--warmup", "1",
       "--repeats", "1")


def safetensors(tensors, header=None):
    """A file's content, of fp32 tensors by name."""
    entries, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        raw = bytes(tensor.contiguous().view(-1).view(torch.uint8).tolist())
        entries[name] = {"dtype": "F32", "shape": list(tensor.shape),
                         "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    entries.update(header or {})
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text + data


class Run(support.Case):
    def run_main(self, main, *words):
        with contextlib.redirect_stderr(io.StringIO()):
            support.call_main(main, (*CPU, *words), {"LLMPROF_WORKLOAD_DIR": str(self.folder)})
        return self.written()


@support.needs_torch
class Safetensors(support.Case):
    def read(self, content):
        path = self.folder / "model.safetensors"
        path.write_bytes(content)
        return dict(checkpoint.read_safetensors(path))

    def test_a_file(self):
        tensors = {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor([1.5])}
        found = self.read(safetensors(tensors))
        self.assertEqual(list(found), ["a", "b"])
        self.assertTrue(torch.equal(found["a"], tensors["a"]))
        self.assertTrue(torch.equal(found["b"], tensors["b"]))

    def test_every_prefix_is_an_error(self):
        content = safetensors({"a": torch.arange(6.0).view(2, 3)})
        for size in range(1, len(content)):
            with self.assertRaises(common.WorkloadError, msg=f"{size} bytes"):
                self.read(content[:size])

    def test_entries_that_lie(self):
        path = self.folder / "model.safetensors"
        entry = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
        for change in ({"data_offsets": [0, 400]}, {"data_offsets": [-4, 4]},
                       {"data_offsets": [4, 0]}, {"data_offsets": [0]}, {"dtype": "F8"},
                       {"shape": [7]}, {"shape": "x"}, {"data_offsets": ["a", "b"]},
                       {"data_offsets": [1, 3]}):
            with self.subTest(change=change):
                content = safetensors({"a": torch.zeros(1)}, {"a": {**entry, **change}})
                self.fails(common.USAGE, f"{path}: a: {{}}", self.read, content)
        self.fails(common.USAGE, f"{path}: a: {{}}", self.read, safetensors({}, {"a": 5}))
        self.fails(common.USAGE, f"{path}: its header is not an object", self.read,
                   struct.pack("<Q", 2) + b"[]")


@support.needs_torch
class Native(Run):
    """DeepSeek-OCR's weights, named as published, in the built-in architecture."""

    def published(self, model):
        tensors = {}
        for name, value in model.state_dict().items():
            if ".experts." in name and "shared" not in name:
                prefix, kind = name.replace("decoder.", "model.").rsplit(".", 1)
                for expert, weight in enumerate(value):
                    tensors[f"{prefix}.{expert}.{kind}.weight"] = weight
            elif name.startswith("decoder.lm_head"):
                tensors[name.replace("decoder.", "")] = value
            else:
                tensors["model." + name.replace("decoder.", "")] = value
        return tensors

    def checkpoint(self, change=None, **config):
        model = DeepseekOcr(TINY_OCR)
        materialise(model, torch.device("cpu"), torch.float32, 5)
        tensors = self.published(model)
        (change or (lambda _: None))(tensors)
        names = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                 "intermediate_size", "moe_intermediate_size", "n_routed_experts",
                 "n_shared_experts", "num_experts_per_tok", "first_k_dense_replace")
        declared = {name: getattr(TINY_OCR.decoder, name) for name in names}
        self.write("model/config.json", json.dumps({"language_config": {**declared, **config}}))
        half = len(tensors) // 2
        for number, part in enumerate((list(tensors)[:half], list(tensors)[half:])):
            (self.folder / f"model/{number}.safetensors").write_bytes(
                safetensors({name: tensors[name] for name in part}))
        return ("--tiny", "--loader", "native", "--model-path", str(self.folder / "model"))

    def test_names(self):
        self.assertEqual(place("model.layers.3.mlp.experts.17.up_proj.weight"),
                         ("decoder.layers.3.mlp.experts.up_proj", 17))
        self.assertEqual(place("model.layers.0.mlp.gate_proj.weight"),
                         ("decoder.layers.0.mlp.gate_proj.weight", None))
        self.assertEqual(place("lm_head.weight"), ("decoder.lm_head.weight", None))
        self.assertEqual(place("model.sam_model.neck.0.weight"),
                         ("sam_model.neck.0.weight", None))
        self.assertEqual(place("model.image_newline"), ("image_newline", None))

    def test_it_says_what_the_same_weights_say(self):
        words = self.checkpoint()
        loaded = self.run_main(deepseek_ocr.main, *words)
        self.assertEqual(loaded["model"]["weights"], "checkpoint")
        made = self.run_main(deepseek_ocr.main, "--tiny", "--seed", "5")
        plain = self.run_main(deepseek_ocr.main, "--tiny")
        said = [run["repeats"][0]["output_sha256"] for run in (loaded, made, plain)]
        # The seed also makes the image and the text, so only the loaded weights can tell.
        self.assertNotEqual(said[0], said[2])
        again = self.run_main(deepseek_ocr.main, *words, "--seed", "5")
        self.assertEqual(again["repeats"][0]["output_sha256"], said[1])

    def test_what_does_not_fit(self):
        def rejects(message, words):
            self.fails(common.USAGE, message.replace("@", str(self.folder / "model")),
                       deepseek_ocr.main, [*CPU, *words])

        rejects("@/config.json: language_config.hidden_size: 7, where the built-in architecture "
                "has 64", self.checkpoint(hidden_size=7))
        rejects("@/1.safetensors: model.bogus: the model has no place for it",
                self.checkpoint(lambda t: t.update(
                    {"model.bogus": t.pop("model.image_newline")})))
        rejects("@: nothing in it for image_newline and 0 more",
                self.checkpoint(lambda t: t.pop("model.image_newline")))
        name = "model.layers.1.mlp.experts.3.up_proj.weight"
        rejects("@: nothing in it for decoder.layers.1.mlp.experts.up_proj and 0 more",
                self.checkpoint(lambda t: t.pop(name)))
        rejects(f"@/1.safetensors: {name}: has shape [2, 2], the model [32, 64]",
                self.checkpoint(lambda t: t.update({name: torch.zeros(2, 2)})))

    def test_a_folder_without_weights(self):
        words = self.checkpoint()
        for path in (self.folder / "model").glob("*.safetensors"):
            path.unlink()
        self.fails(common.USAGE, f"{self.folder}/model: no *.safetensors in it",
                   deepseek_ocr.main, [*CPU, *words])


@support.needs_transformers
class Causal(Run):
    """Any causal language model of transformers."""

    @classmethod
    def setUpClass(cls):
        import tempfile

        import transformers
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.models = {}
        sizes = {"vocab_size": 97, "hidden_size": 64, "num_hidden_layers": 2,
                 "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 112,
                 "max_position_embeddings": 64}
        for family, extra in (("Llama", {}), ("Mixtral", {"num_local_experts": 4})):
            config = getattr(transformers, f"{family}Config")(**sizes, **extra)
            torch.manual_seed(0)
            model = getattr(transformers, f"{family}ForCausalLM")(config)
            cls.models[family] = f"{holder.name}/{family}"
            with contextlib.redirect_stderr(io.StringIO()):
                model.save_pretrained(cls.models[family])

    def test_families_and_caches(self):
        for family, path in self.models.items():
            words = ("--model-path", path, "--prompt-tokens", "12", "--batch", "2")
            metrics = self.run_main(causal_lm.main, *words)
            self.assertEqual((metrics["model"]["name"], metrics["model"]["variant"],
                              metrics["model"]["weights"]), (family, family.lower(),
                                                             "checkpoint"))
            self.assertEqual(metrics["model"]["architecture"]["hidden_size"], 64)
            self.assertNotIn(path, json.dumps(metrics))
            parameters = metrics["model"]["parameters"]
            self.assertLess(parameters["active"], parameters["total"])
            static = self.run_main(causal_lm.main, *words, "--kv-cache", "static",
                                   "--repeats", "2")
            self.assertEqual([run["output_sha256"] for run in static["repeats"]],
                             [metrics["repeats"][0]["output_sha256"]] * 2)

    def test_what_it_cannot_do(self):
        words = [*CPU, "--model-path", self.models["Llama"], "--prompt-tokens", "12"]
        with contextlib.redirect_stderr(io.StringIO()):
            self.fails(common.USAGE, "--experts is for the built-in decoder; a checkpoint loaded "
                       "by transformers brings its own", causal_lm.main,
                       [*words, "--experts", "grouped"])
            self.fails(common.USAGE, "60 prompt and 5 new tokens: the model's context is 64",
                       causal_lm.main, [*words, "--prompt-tokens", "60"])
            self.fails(common.FAILED, f"{self.folder}: transformers {{}} cannot load it: {{}}",
                       causal_lm.main, [*CPU, "--model-path", str(self.folder)])

    def test_no_transformers(self):
        with mock.patch.dict(support.sys.modules, {"transformers": None}):
            self.fails(common.MISSING, "--model-path needs transformers ({}): pip install "
                       "transformers", causal_lm.main,
                       [*CPU, "--model-path", self.models["Llama"]])


# The interface of the published code, around the parts of the built-in one.
REMOTE_CODE = '''
import sys
import torch
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast
sys.path.insert(0, "@PROGRAMS@")
from deepseek_ocr_model import DeepseekOcr
from workload_decoder import DynamicCache
from workload_models import TINY_OCR


class FakeConfig(PretrainedConfig):
    model_type = "fake_ocr"


class FakeModel(PreTrainedModel):
    config_class = FakeConfig
    _supports_sdpa = True

    def __init__(self, config):
        super().__init__(config)
        self.model = DeepseekOcr(TINY_OCR)
        self.post_init()

    def _init_weights(self, module):
        pass

    def get_input_embeddings(self):
        return self.model.decoder.embed_tokens

    def forward(self, input_ids, past_key_values=None, use_cache=None, return_dict=None,
                images=None, images_seq_mask=None, images_spatial_crop=None):
        assert use_cache and return_dict
        model = self.model
        embeddings = model.decoder.embed_tokens(input_ids.clamp(max=511))
        if past_key_values is None:
            past_key_values = DynamicCache(3)
            assert images_spatial_crop.tolist() == [[1, 1]] * len(input_ids)
            for row, (tiles, pixels) in enumerate(images):
                assert tiles.sum().item() == 0
                low = model.sam_model(pixels)
                high = model.vision_model(low)
                both = torch.cat((high[:, 1:], low.flatten(2).transpose(1, 2)), dim=-1)
                side = low.shape[-1]
                grid = model.projector(both).view(1, side, side, -1)
                image = torch.cat((model.lines(grid)[0], model.view_seperator[None]))
                embeddings[row][images_seq_mask[row]] = image
        logits = model.decoder(embeddings, past_key_values)[:, None]
        return CausalLMOutputWithPast(logits=logits, past_key_values=past_key_values)
'''


@support.needs_transformers
class Remote(Run):
    """A checkpoint that brings its code, with DeepSeek-OCR's interface."""

    def checkpoint(self):
        from safetensors.torch import save_file
        model = DeepseekOcr(TINY_OCR)
        materialise(model, torch.device("cpu"), torch.float32, 5)
        folder = self.folder / "remote"
        self.write("remote/modeling_fake.py",
                   REMOTE_CODE.replace("@PROGRAMS@", str(support.PROGRAMS)))
        self.write("remote/config.json", json.dumps({
            "model_type": "fake_ocr", "architectures": ["FakeModel"], "auto_map": {
                "AutoConfig": "modeling_fake.FakeConfig",
                "AutoModel": "modeling_fake.FakeModel"}}))
        save_file({f"model.{name}": value for name, value in model.state_dict().items()},
                  folder / "model.safetensors", metadata={"format": "pt"})
        return ("--model-path", str(folder), "--image-size", "128")

    def setUp(self):
        super().setUp()
        patch = mock.patch.dict(support.os.environ, {"HF_MODULES_CACHE": str(self.folder / "hf")})
        patch.start()
        self.addCleanup(patch.stop)

    def test_it_says_what_the_built_in_one_says(self):
        with mock.patch("transformers.dynamic_module_utils.HF_MODULES_CACHE",
                        str(self.folder / "hf")):
            words = (*self.checkpoint(), "--batch", "2")
            metrics = self.run_main(deepseek_ocr.main, *words, "--trust-remote-code",
                                    "--seed", "5")
        run = metrics["repeats"][0]
        self.assertEqual(list(run["stages"]), ["prefill", "sam", "clip", "projector", "decode"])
        self.assertEqual(run["stages"]["sam"]["count"], 2)  # one image after the other
        self.assertEqual((metrics["model"]["weights"], metrics["model"]["variant"]),
                         ("checkpoint", ""))
        self.assertIsNone(metrics["model"]["parameters"]["active"])
        built_in = self.run_main(deepseek_ocr.main, "--tiny", "--seed", "5", "--batch", "2")
        self.assertEqual(metrics["model"]["parameters"]["total"],
                         built_in["model"]["parameters"]["total"])
        self.assertEqual(run["output_sha256"], built_in["repeats"][0]["output_sha256"])

    def test_its_code_is_not_run_unasked(self):
        words = [*CPU, *self.checkpoint()]
        with contextlib.redirect_stderr(io.StringIO()):
            self.fails(common.FAILED, f"{self.folder}/remote: transformers {{}} cannot load it: "
                       "it brings Python code of its own, which is run only with "
                       "--trust-remote-code; read that code first. --loader native reads the "
                       "weights without that code", deepseek_ocr.main, words)


if __name__ == "__main__":
    unittest.main()
