"""DeepSeek-OCR's encoder and its images."""

import io
import sys
import unittest
from unittest import mock

import support  # finds the programs
import deepseek_ocr
import workload_common as common
from workload_inputs import Batch, Sample
from workload_models import TINY_OCR

if support.HAS_TORCH:
    import deepseek_ocr_model as ocr
    import torch
    from test_decoder import randomise
    from workload_clock import QuietClock


def png(width, height, colour):
    from PIL import Image
    out = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(out, "png")
    return out.getvalue()


HAS_PIL = support.importlib.util.find_spec("PIL") is not None
needs_pillow = unittest.skipUnless(HAS_PIL and support.HAS_TORCH, "Pillow is not installed")


@support.needs_torch
class Windows(unittest.TestCase):
    def test_there_and_back(self):
        for height, width, size in ((8, 8, 3), (6, 9, 3), (2, 5, 4)):
            grid = torch.arange(2 * height * width * 2.0).view(2, height, width, 2)
            windows, tiles = ocr.to_windows(grid, size)
            self.assertEqual(tiles, (-(-height // size), -(-width // size)))
            self.assertEqual(windows.shape[1:], (size, size, 2))
            self.assertTrue(torch.equal(ocr.from_windows(windows, tiles, height, width), grid))

    def test_which_places_share_a_window(self):
        grid = torch.arange(16.0).view(1, 4, 4, 1)
        windows, _ = ocr.to_windows(grid, 2)
        self.assertEqual(windows[1].flatten().tolist(), [2, 3, 6, 7])


@support.needs_torch
class Positions(unittest.TestCase):
    def test_relative_rows(self):
        table = torch.arange(5.0)[:, None]  # distances -2 .. 2
        self.assertEqual(ocr.relative_rows(table, 3)[:, :, 0].tolist(),
                         [[2, 1, 0], [3, 2, 1], [4, 3, 2]])

    def test_tables_for_other_sizes(self):
        self.assertEqual(ocr.relative_rows(torch.ones(15, 4), 12).shape, (12, 12, 4))
        table = torch.ones(1, 8, 8, 4)
        self.assertIs(ocr.resize_grid(table, 8), table)
        resized = ocr.resize_grid(table, 12)
        self.assertEqual(resized.shape, (1, 12, 12, 4))
        torch.testing.assert_close(resized, torch.ones(1, 12, 12, 4))


@support.needs_torch
class Prompt(unittest.TestCase):
    def setUp(self):
        self.model = ocr.DeepseekOcr(TINY_OCR)
        randomise(self.model)

    def test_where_the_image_is(self):
        text = torch.tensor([[5, 6, 7]])
        inputs = ocr.OcrInputs(torch.zeros(1, 3, 128, 128), text)
        with torch.no_grad():
            prompt = self.model.embed(inputs, QuietClock().stage)[0]
            words = self.model.decoder.embed_tokens(text)[0]
        self.assertEqual(len(prompt), 3 + ocr.image_tokens(128, 64, 0, 0))
        self.assertTrue(torch.equal(prompt[0], words[0]))
        self.assertTrue(torch.equal(prompt[-2:], words[1:]))
        self.assertTrue(torch.equal(prompt[-3], self.model.view_seperator))
        for row_end in (3, 6):  # two rows of two features and a newline
            self.assertTrue(torch.equal(prompt[row_end], self.model.image_newline))

    def test_parts_are_marked(self):
        marked = []

        class Recorder(QuietClock):
            def stage(self, name):
                marked.append(name)
                return super().stage(name)

        inputs = ocr.OcrInputs(torch.zeros(1, 3, 128, 128), torch.tensor([[1, 2]]),
                               torch.zeros(2, 3, 64, 64), 2, 1)
        with torch.no_grad():
            prompt = self.model.embed(inputs, Recorder().stage)
        self.assertEqual(marked, ["sam", "clip", "projector"] * 2)
        self.assertEqual(prompt.shape[1], 2 + ocr.image_tokens(128, 64, 2, 1))

    def test_image_tokens(self):
        # 1024 pixels are 16 x 16 features, a newline a row, and one separator.
        self.assertEqual(ocr.image_tokens(1024, 640, 0, 0), 273)
        self.assertEqual(ocr.image_tokens(640, 640, 0, 0), 111)
        # Two columns and three rows of tiles: 30 rows of 20 features more.
        self.assertEqual(ocr.image_tokens(1024, 640, 2, 3), 273 + 30 * 21)

    def test_tiles_make_one_picture(self):
        page = torch.arange(6.0).repeat_interleave(4).view(6, 2, 2, 1)  # 2 rows, 3 columns
        self.assertEqual(ocr.join_tiles(page, 3, 2)[0, :, :, 0].tolist(),
                         [[0, 0, 1, 1, 2, 2]] * 2 + [[3, 3, 4, 4, 5, 5]] * 2)


@support.needs_transformers
class AgainstTransformers(unittest.TestCase):
    def test_sam(self):
        from transformers import SamVisionConfig
        from transformers.models.sam.modeling_sam import SamVisionEncoder
        config = TINY_OCR.sam
        theirs = SamVisionEncoder(SamVisionConfig(
            hidden_size=config.width, output_channels=config.neck_channels,
            num_hidden_layers=config.layers, num_attention_heads=config.heads, image_size=128,
            patch_size=16, window_size=config.window_size,
            global_attn_indexes=list(config.global_attn_indexes), mlp_ratio=4.0)).eval()
        randomise(theirs)
        names = {"patch_embed.proj": "patch_embed.projection", "blocks": "layers",
                 "norm1": "layer_norm1", "norm2": "layer_norm2", "neck.0": "neck.conv1",
                 "neck.1": "neck.layer_norm1", "neck.2": "neck.conv2",
                 "neck.3": "neck.layer_norm2"}
        pixels = torch.randn(2, 3, 128, 128, generator=torch.Generator().manual_seed(0))
        for mode in ("sdpa", "eager"):
            own = ocr.Sam(config, mode)
            with torch.no_grad():
                for name, target in own.state_dict().items():
                    if not name.startswith("net_"):
                        for ours, their in names.items():
                            name = name.replace(ours, their)
                        target.copy_(theirs.state_dict()[name])
                own.net_2, own.net_3 = torch.nn.Identity(), torch.nn.Identity()
                torch.testing.assert_close(own(pixels), theirs(pixels).last_hidden_state,
                                           rtol=1e-4, atol=1e-4)

    def test_clip(self):
        from transformers import CLIPVisionConfig, CLIPVisionModel
        config = TINY_OCR.clip
        theirs = CLIPVisionModel(CLIPVisionConfig(
            hidden_size=config.width, intermediate_size=config.intermediate_size,
            num_hidden_layers=config.layers, num_attention_heads=config.heads,
            image_size=config.image_size, patch_size=config.patch_size,
            hidden_act="quick_gelu")).eval()
        randomise(theirs)
        weights = {name.replace("vision_model.", ""): value
                   for name, value in theirs.state_dict().items()}
        own = ocr.Clip(config, "sdpa")
        pixels = torch.randn(2, 3, 28, 28, generator=torch.Generator().manual_seed(0))
        with torch.no_grad():
            for name, target in own.state_dict().items():
                name = name.replace("transformer", "encoder")
                if "qkv_proj" in name:
                    target.copy_(torch.cat([weights[name.replace("qkv_proj", f"{part}_proj")]
                                            for part in "qkv"]))
                else:
                    target.copy_(weights[name])
            patches = own.embeddings.patch_embedding(pixels)
            torch.testing.assert_close(own(patches), theirs(pixels).last_hidden_state,
                                       rtol=1e-4, atol=1e-4)


@support.needs_torch
class Images(support.Case):
    def test_pages_follow_the_seed(self):
        page = deepseek_ocr.make_page(3, 128)
        self.assertEqual(page.shape, (3, 128, 128))
        self.assertTrue(0 <= page.min().item() < 0.2 < 0.9 < page.max().item() <= 1)
        self.assertTrue(torch.equal(page, deepseek_ocr.make_page(3, 128)))
        self.assertFalse(torch.equal(page, deepseek_ocr.make_page(4, 128)))

    def test_padding_to_a_square(self):
        wide = deepseek_ocr.fit(torch.ones(3, 10, 20), 64, 64)
        self.assertEqual(wide.shape, (3, 64, 64))
        self.assertEqual(wide[0, :, 0].tolist(), [0.0] * 16 + [1.0] * 32 + [0.0] * 16)
        tall = deepseek_ocr.fit(torch.zeros(3, 100, 1), 64, 64)
        self.assertEqual(int((tall[0] == -1).sum()), 64)

    def loader(self, *words):
        return deepseek_ocr.Loader(deepseek_ocr.parse(["--tiny", *words]), 512)

    def test_a_batch(self):
        load = self.loader("--batch", "2", "--prompt-tokens", "5", "--tiles", "2x1")
        inputs, identities = load(Batch(1, 1, (Sample("a", seed=1), Sample("b", seed=2))))
        self.assertEqual((inputs.pixels.shape, inputs.tiles.shape, inputs.text.shape),
                         ((2, 3, 128, 128), (4, 3, 64, 64), (2, 5)))
        self.assertLess(inputs.text.max().item(), 512)
        self.assertEqual([(entry["name"], entry["bytes"]) for entry in identities],
                         [("a", 3 * 128 * 128), ("b", 3 * 128 * 128)])
        self.assertNotEqual(identities[0]["sha256"], identities[1]["sha256"])

    def test_tiles_of_a_page(self):
        load = self.loader("--tiles", "2x1")
        page = torch.arange(128.0).expand(3, 64, 128)
        left, right = load.tiles_of(page)
        self.assertEqual((left[0, 5, 63].item(), right[0, 5, 0].item()), (63, 64))

    @needs_pillow
    def test_a_file(self):
        content = png(4, 2, (255, 0, 51))
        pixels = deepseek_ocr.read_image("x.png", content)
        self.assertEqual(pixels.shape, (3, 2, 4))
        torch.testing.assert_close(pixels[:, 1, 3], torch.tensor([1.0, 0.0, 0.2]))
        path = self.folder / "x.png"
        path.write_bytes(content)
        _, identities = self.loader()(Batch(1, 1, (Sample("x.png", path),)))
        self.assertEqual((identities[0]["name"], identities[0]["bytes"]),
                         ("x.png", len(content)))

    @needs_pillow
    def test_a_file_that_is_no_image(self):
        self.fails(common.USAGE, "x.png: cannot identify image file {}",
                   deepseek_ocr.read_image, "x.png", b"no image")
        self.fails(common.USAGE, "x.png: {}",
                   deepseek_ocr.read_image, "x.png", png(4, 2, (0, 0, 0))[:-20])

    def test_nothing_to_read_images_with(self):
        gone = {"PIL": None, "torchvision": None, "torchvision.io": None}
        with mock.patch.dict(sys.modules, gone):
            self.fails(common.MISSING, "x.png: reading images needs Pillow or torchvision: pip "
                       "install pillow", deepseek_ocr.read_image, "x.png", b"")


if __name__ == "__main__":
    unittest.main()
