"""DeepSeek-OCR's architecture in plain PyTorch.

An image goes through SAM (windowed and global attention with relative
positions, then convolutions down to 1/64 of its size) and, as SAM's features,
through CLIP; both features side by side are projected to the decoder's width
and stand among the prompt's embeddings. Modules are named as in the published
checkpoint. workload_models.py tells where the dimensions come from.
"""

from __future__ import annotations

import math
from typing import Any, Callable, List, Tuple

import torch
import torch.nn.functional as F
from torch import nn

from workload_decoder import Decoder, attend
from workload_models import ClipConfig, OcrConfig, SamConfig

# ---- SAM ----

class ChannelNorm(nn.Module):
    """Layer norm over the channels of [batch, channels, height, width]."""

    def __init__(self, channels: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels))
        self.bias = nn.Parameter(torch.empty(channels))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        centred = x - x.mean(1, keepdim=True)
        variance = centred.pow(2).mean(1, keepdim=True)
        x = centred / torch.sqrt(variance + self.eps)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


def resize_grid(table: torch.Tensor, side: int) -> torch.Tensor:
    """A table of positions [1, side, side, width] for another side."""
    if table.shape[1] == side:
        return table
    resized = F.interpolate(table.permute(0, 3, 1, 2).to(torch.float32), size=(side, side),
                            mode="bicubic", antialias=True, align_corners=False)
    return resized.to(table.dtype).permute(0, 2, 3, 1)


def relative_rows(table: torch.Tensor, size: int) -> torch.Tensor:
    """Embedding of each distance between two of `size` positions, [size, size, width]."""
    if len(table) != 2 * size - 1:
        resized = F.interpolate(table.to(torch.float32).t()[None], size=2 * size - 1,
                                mode="linear")
        table = resized[0].t().to(table.dtype)
    places = torch.arange(size, device=table.device)
    return table[places[:, None] - places[None, :] + size - 1]


class SamAttention(nn.Module):
    def __init__(self, config: SamConfig, side: int, mode: str):
        super().__init__()
        self.heads, self.mode = config.heads, mode
        dim = config.width // config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.proj = nn.Linear(config.width, config.width)
        self.rel_pos_h = nn.Parameter(torch.empty(2 * side - 1, dim))
        self.rel_pos_w = nn.Parameter(torch.empty(2 * side - 1, dim))

    def bias(self, query: torch.Tensor, height: int, width: int) -> torch.Tensor:
        """Scores by distance in rows plus distance in columns, [batch, heads, hw, hw]."""
        grid = query.unflatten(2, (height, width))
        by_row = torch.einsum("bnhwc,hkc->bnhwk", grid, relative_rows(self.rel_pos_h, height))
        by_column = torch.einsum("bnhwc,wkc->bnhwk", grid, relative_rows(self.rel_pos_w, width))
        both = by_row[..., :, None] + by_column[..., None, :]
        return both.reshape(*query.shape[:2], height * width, height * width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, height, width, channels = x.shape
        qkv = self.qkv(x).view(batch, height * width, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = qkv.unbind(0)
        out = attend(query, key, value, self.mode, mask=self.bias(query, height, width))
        return self.proj(out.transpose(1, 2).reshape(batch, height, width, channels))


class SamMlp(nn.Module):
    def __init__(self, width: int, inner: int):
        super().__init__()
        self.lin1 = nn.Linear(width, inner)
        self.lin2 = nn.Linear(inner, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lin2(F.gelu(self.lin1(x)))


def to_windows(x: torch.Tensor, size: int) -> Tuple[torch.Tensor, Tuple[int, int]]:
    """[batch, height, width, c] as windows [n, size, size, c], padded; rows and columns of them."""
    batch, height, width, channels = x.shape
    x = F.pad(x, (0, 0, 0, -width % size, 0, -height % size))
    rows, columns = x.shape[1] // size, x.shape[2] // size
    x = x.view(batch, rows, size, columns, size, channels).transpose(2, 3)
    return x.reshape(-1, size, size, channels), (rows, columns)


def from_windows(x: torch.Tensor, tiles: Tuple[int, int], height: int,
                 width: int) -> torch.Tensor:
    size, (rows, columns) = x.shape[1], tiles
    x = x.view(-1, rows, columns, size, size, x.shape[-1]).transpose(2, 3)
    x = x.reshape(-1, rows * size, columns * size, x.shape[-1])
    return x[:, :height, :width].contiguous()


class SamBlock(nn.Module):
    def __init__(self, config: SamConfig, index: int, mode: str):
        super().__init__()
        self.window = 0 if index in config.global_attn_indexes else config.window_size
        side = self.window or config.image_size // config.patch_size
        self.norm1 = nn.LayerNorm(config.width, eps=1e-6)
        self.attn = SamAttention(config, side, mode)
        self.norm2 = nn.LayerNorm(config.width, eps=1e-6)
        self.mlp = SamMlp(config.width, config.mlp_ratio * config.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.norm1(x)
        if self.window:
            windows, tiles = to_windows(inner, self.window)
            inner = from_windows(self.attn(windows), tiles, x.shape[1], x.shape[2])
        else:
            inner = self.attn(inner)
        x = x + inner
        return x + self.mlp(self.norm2(x))


class PatchEmbed(nn.Module):
    def __init__(self, config: SamConfig):
        super().__init__()
        self.proj = nn.Conv2d(3, config.width, config.patch_size, stride=config.patch_size)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.proj(pixels).permute(0, 2, 3, 1)


class Sam(nn.Module):
    """Pixels [batch, 3, s, s] to features [batch, channels, s/64, s/64]."""

    def __init__(self, config: SamConfig, mode: str):
        super().__init__()
        side, neck = config.image_size // config.patch_size, config.neck_channels
        first, second = config.downsample_channels
        self.patch_embed = PatchEmbed(config)
        self.pos_embed = nn.Parameter(torch.empty(1, side, side, config.width))
        self.blocks = nn.ModuleList(SamBlock(config, index, mode)
                                    for index in range(config.layers))
        self.neck = nn.Sequential(
            nn.Conv2d(config.width, neck, 1, bias=False), ChannelNorm(neck),
            nn.Conv2d(neck, neck, 3, padding=1, bias=False), ChannelNorm(neck))
        self.net_2 = nn.Conv2d(neck, first, 3, stride=2, padding=1, bias=False)
        self.net_3 = nn.Conv2d(first, second, 3, stride=2, padding=1, bias=False)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        x = self.patch_embed(pixels)
        x = x + resize_grid(self.pos_embed, x.shape[1])
        for block in self.blocks:
            x = block(x)
        return self.net_3(self.net_2(self.neck(x.permute(0, 3, 1, 2))))


# ---- CLIP ----

class ClipEmbeddings(nn.Module):
    """A class token and SAM's features, with positions. The patch convolution is
    in the checkpoint but has no work: SAM's features stand for the patches."""

    def __init__(self, config: ClipConfig):
        super().__init__()
        side = config.image_size // config.patch_size
        self.class_embedding = nn.Parameter(torch.empty(config.width))
        self.patch_embedding = nn.Conv2d(3, config.width, config.patch_size,
                                         stride=config.patch_size, bias=False)
        self.position_embedding = nn.Embedding(side * side + 1, config.width)

    def positions(self, side: int) -> torch.Tensor:
        table = self.position_embedding.weight
        old = math.isqrt(len(table) - 1)
        if old == side:
            return table
        grid = resize_grid(table[1:].view(1, old, old, -1), side)
        return torch.cat((table[:1], grid.reshape(side * side, -1)))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        patches = features.flatten(2).transpose(1, 2)
        start = self.class_embedding.expand(len(patches), 1, -1)
        return torch.cat((start, patches), dim=1) + self.positions(features.shape[-1])


class ClipAttention(nn.Module):
    def __init__(self, config: ClipConfig, mode: str):
        super().__init__()
        self.heads, self.mode = config.heads, mode
        self.qkv_proj = nn.Linear(config.width, 3 * config.width)
        self.out_proj = nn.Linear(config.width, config.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        qkv = self.qkv_proj(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = qkv.unbind(0)
        out = attend(query, key, value, self.mode)
        return self.out_proj(out.transpose(1, 2).reshape(batch, length, width))


class ClipMlp(nn.Module):
    def __init__(self, config: ClipConfig):
        super().__init__()
        self.fc1 = nn.Linear(config.width, config.intermediate_size)
        self.fc2 = nn.Linear(config.intermediate_size, config.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.fc1(x)
        return self.fc2(inner * torch.sigmoid(1.702 * inner))  # CLIP's quick GELU


class ClipLayer(nn.Module):
    def __init__(self, config: ClipConfig, mode: str):
        super().__init__()
        self.layer_norm1 = nn.LayerNorm(config.width)
        self.self_attn = ClipAttention(config, mode)
        self.layer_norm2 = nn.LayerNorm(config.width)
        self.mlp = ClipMlp(config)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.self_attn(self.layer_norm1(x))
        return x + self.mlp(self.layer_norm2(x))


class ClipTransformer(nn.Module):
    def __init__(self, config: ClipConfig, mode: str):
        super().__init__()
        self.layers = nn.ModuleList(ClipLayer(config, mode) for _ in range(config.layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Clip(nn.Module):
    """SAM's features [batch, c, h, h] to [batch, 1 + h * h, width]."""

    def __init__(self, config: ClipConfig, mode: str):
        super().__init__()
        self.embeddings = ClipEmbeddings(config)
        self.pre_layrnorm = nn.LayerNorm(config.width)  # spelled so in the checkpoint
        self.transformer = ClipTransformer(config, mode)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.transformer(self.pre_layrnorm(self.embeddings(features)))


# ---- together ----

class Projector(nn.Module):
    def __init__(self, width_in: int, width_out: int):
        super().__init__()
        self.layers = nn.Linear(width_in, width_out)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class DeepseekOcr(nn.Module):
    """Encoder, projector and decoder."""

    def __init__(self, config: OcrConfig, attention: str = "sdpa",
                 experts: Tuple[str, str] = ("loop", "loop")):
        super().__init__()
        hidden = config.decoder.hidden_size
        features = config.sam.downsample_channels[1]
        self.config = config
        self.sam_model = Sam(config.sam, attention)
        self.vision_model = Clip(config.clip, attention)
        self.projector = Projector(features + config.clip.width, hidden)
        self.image_newline = nn.Parameter(torch.empty(hidden))
        self.view_seperator = nn.Parameter(torch.empty(hidden))  # spelled so, too
        self.decoder = Decoder(config.decoder, attention, experts)

    def encode(self, pixels: torch.Tensor, stage: Callable) -> torch.Tensor:
        """[views, 3, s, s] to [views, h, h, hidden]."""
        with stage("sam"):
            low = self.sam_model(pixels)
        with stage("clip"):
            high = self.vision_model(low)
        with stage("projector"):
            both = torch.cat((high[:, 1:], low.flatten(2).transpose(1, 2)), dim=-1)
            out = self.projector(both)
        return out.view(len(pixels), *low.shape[2:], -1)

    def lines(self, grid: torch.Tensor) -> torch.Tensor:
        """[batch, rows, columns, hidden] as tokens, each row ended by a newline."""
        batch, rows, _, hidden = grid.shape
        ends = self.image_newline.expand(batch, rows, 1, hidden)
        return torch.cat((grid, ends), dim=2).flatten(1, 2)

    def embed(self, inputs: "OcrInputs", stage: Callable) -> torch.Tensor:
        """Embeddings of the prompt: its first token, the image, the text."""
        device, dtype = self.image_newline.device, self.image_newline.dtype
        parts: List[torch.Tensor] = []
        if inputs.tiles is not None:
            grid = self.encode(inputs.tiles.to(device, dtype), stage)
            parts.append(self.lines(join_tiles(grid, inputs.columns, inputs.rows)))
        parts.append(self.lines(self.encode(inputs.pixels.to(device, dtype), stage)))
        parts.append(self.view_seperator.expand(len(inputs.pixels), 1, -1))
        text = self.decoder.embed_tokens(inputs.text.to(device))
        return torch.cat((text[:, :1], *parts, text[:, 1:]), dim=1)


def join_tiles(grid: torch.Tensor, columns: int, rows: int) -> torch.Tensor:
    """Tiles of all images [batch * rows * columns, h, h, c] as one grid per image."""
    side, channels = grid.shape[1], grid.shape[3]
    grid = grid.view(-1, rows, columns, side, side, channels).transpose(2, 3)
    return grid.reshape(-1, rows * side, columns * side, channels)


class OcrInputs:
    """A batch on the CPU.

    pixels [batch, 3, s, s]; tiles [batch * rows * columns, 3, t, t] or None;
    text [batch, tokens], of which the first stands before the image.
    """

    def __init__(self, pixels: torch.Tensor, text: torch.Tensor, tiles: Any = None,
                 columns: int = 0, rows: int = 0):
        self.pixels, self.text, self.tiles = pixels, text, tiles
        self.columns, self.rows = columns, rows


def image_tokens(size: int, tile_size: int, columns: int, rows: int) -> int:
    """Tokens that one image takes in the prompt: a newline a row, and a separator."""
    side, tile_side = size // 64, tile_size // 64
    local = rows * tile_side * (columns * tile_side + 1)
    return side * (side + 1) + 1 + local
