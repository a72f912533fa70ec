"""A decoder as serving engines run it, with a switch for each fault: random weights, one file.

A healthy decode step launches ten kernels a layer, all of it replayed as one CUDA graph. A switch
makes one thing worse and leaves the rest alone, so that what it costs can be measured against the
same process without it.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Dict, Iterator, List, Optional, Set

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

HALF = torch.bfloat16
HEAD = 128  # dimensions of an attention head

# Fused kernels, on bfloat16 as bits. `rows` blocks of one row each.
FUSED = r"""
__device__ float wide(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }
__device__ unsigned short narrow(float value) {
  unsigned bits = __float_as_uint(value);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}
__device__ float block_sum(float value) {
  __shared__ float parts[32];
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x % 32] : 0;
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
  if (threadIdx.x == 0) parts[0] = value;
  __syncthreads();
  return parts[0];
}
extern "C" __global__ void fused_add_rms_norm(unsigned short *residual,
                                              const unsigned short *added,
                                              const unsigned short *weight,
                                              unsigned short *out, int width) {
  unsigned short *row = residual + (long)blockIdx.x * width;
  const unsigned short *more = added + (long)blockIdx.x * width;
  float squares = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    float value = wide(row[i]) + wide(more[i]);
    row[i] = narrow(value);
    squares += value * value;
  }
  float scale = rsqrtf(block_sum(squares) / width + 1e-6f);
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    out[(long)blockIdx.x * width + i] = narrow(wide(row[i]) * scale * wide(weight[i]));
}
extern "C" __global__ void silu_and_mul(const unsigned short *both, unsigned short *out,
                                        int width) {
  const unsigned short *row = both + (long)blockIdx.x * 2 * width;
  for (int i = blockIdx.y * blockDim.x + threadIdx.x; i < width; i += gridDim.y * blockDim.x) {
    float gate = wide(row[i]);
    out[(long)blockIdx.x * width + i] =
        narrow(gate / (1 + __expf(-gate)) * wide(row[width + i]));
  }
}
extern "C" __global__ void row_norms(const unsigned short *rows, float *out, int count,
                                     int width) {
  for (int row = blockIdx.x; row < count; row += gridDim.x) {
    float squares = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
      float value = wide(rows[(long)row * width + i]);
      squares += value * value;
    }
    squares = block_sum(squares);
    if (threadIdx.x == 0) out[row] = sqrtf(squares);
    __syncthreads();
  }
}
extern "C" __global__ void spin(float *out, int rounds) {
  float value = threadIdx.x;
  for (int i = 0; i < rounds; i++) value = value * 0.999f + 1;
  if (value < 0) out[0] = value;
}
"""


@dataclasses.dataclass(frozen=True)
class Shape:
    """Dimensions of a model and of what it is asked."""
    hidden: int = 2048
    layers: int = 6
    ffn: int = 5632
    vocabulary: int = 32000
    batch: int = 1
    prompt: int = 512
    steps: int = 32
    graph: bool = True
    experts: int = 0
    active: int = 2
    ranks: int = 1
    drafts: int = 0  # tokens that a step verifies, of each sequence

    @property
    def heads(self) -> int:
        return self.hidden // HEAD


class Kernels:
    """The fused kernels, compiled for this GPU."""

    def __init__(self) -> None:
        self.made: Dict[str, Any] = {}

    def get(self, name: str) -> Any:
        if name not in self.made:
            self.made[name] = torch.cuda._compile_kernel(FUSED, name)
        return self.made[name]

    def add_norm(self, residual: torch.Tensor, added: torch.Tensor,
                 weight: torch.Tensor) -> torch.Tensor:
        rows, width = residual.numel() // residual.shape[-1], residual.shape[-1]
        out = torch.empty_like(residual)
        self.get("fused_add_rms_norm")((rows, 1, 1), (512, 1, 1),
                                       (residual, added, weight, out, width))
        return out

    def silu_mul(self, both: torch.Tensor) -> torch.Tensor:
        width = both.shape[-1] // 2
        out = both.new_empty(*both.shape[:-1], width)
        self.get("silu_and_mul")((both.numel() // both.shape[-1], 4, 1), (256, 1, 1),
                                 (both, out, width))
        return out

    def row_norms(self, rows: torch.Tensor, blocks: int) -> torch.Tensor:
        out = torch.empty(rows.shape[0], device=rows.device)
        self.get("row_norms")((blocks, 1, 1), (128, 1, 1),
                              (rows, out, rows.shape[0], rows.shape[1]))
        return out

    def spin(self, out: torch.Tensor, blocks: int, rounds: int) -> None:
        self.get("spin")((blocks, 1, 1), (1024, 1, 1), (out, rounds))


class Layer(torch.nn.Module):
    def __init__(self, shape: Shape, number: int):
        super().__init__()
        self.shape, self.number = shape, number
        width = shape.hidden // shape.ranks

        def weights(*size: int) -> torch.Tensor:
            return torch.randn(*size, device="cuda", dtype=HALF) * 0.02
        self.norm_1, self.norm_2 = (torch.ones(shape.hidden, device="cuda", dtype=HALF)
                                    for _ in range(2))
        self.qkv, self.out = weights(shape.hidden, 3 * width), weights(width, shape.hidden)
        if shape.experts:  # whole ones, divided among the ranks
            own = shape.experts // shape.ranks
            self.router = weights(shape.hidden, shape.experts)
            self.gate_up = weights(own, shape.hidden, 2 * shape.ffn)
            self.down = weights(own, shape.ffn, shape.hidden)
        else:
            ffn = shape.ffn // shape.ranks
            self.gate_up, self.down = weights(shape.hidden, 2 * ffn), weights(ffn, shape.hidden)
        self.wide: Optional[torch.Tensor] = None  # gate_up in fp32, where the switch asks for it


class Decoder(torch.nn.Module):
    """Prefill and decode. `on` is the set of switches; `hook(place, number)` runs a fault of the
    CPU; `joined(tensor)` is the all-reduce of ranks."""

    def __init__(self, shape: Shape, rank: int = 0):
        super().__init__()
        self.shape, self.rank = shape, rank
        self.on: Set[str] = set()
        self.hook: Callable[[str, int], None] = lambda place, number: None
        self.joined: Callable[[torch.Tensor, int], torch.Tensor] = lambda tensor, number: tensor
        self.kernels = Kernels()
        self.layers = torch.nn.ModuleList(Layer(shape, number) for number in range(shape.layers))
        self.embedding = torch.randn(shape.vocabulary, shape.hidden, device="cuda", dtype=HALF)
        self.head = torch.randn(shape.hidden, shape.vocabulary, device="cuda", dtype=HALF) * 0.02
        self.odd_head: Optional[torch.Tensor] = None  # a token less, where the switch asks for it
        self.window = shape.prompt + shape.steps
        self.caches = self.new_caches()
        self.slot = torch.arange(1 + shape.drafts, device="cuda")

    def new_caches(self) -> List[List[torch.Tensor]]:
        size = (self.shape.batch, self.shape.heads // self.shape.ranks, self.window, HEAD)
        return [[torch.zeros(size, device="cuda", dtype=HALF) for _ in range(2)]
                for _ in range(self.shape.layers)]

    # ---- parts of a layer ----

    def norm(self, residual: torch.Tensor, added: torch.Tensor,
             weight: torch.Tensor) -> torch.Tensor:
        """The residual grows by `added`, in place; returns its RMS norm."""
        if "casts" in self.on:
            residual += added
            wide = residual.to(torch.float32)
            squares = wide.to(torch.float64).pow(2).mean(-1, keepdim=True).to(torch.float32)
            return ((wide * torch.rsqrt(squares + 1e-6)).to(HALF).to(torch.float32)
                    * weight.to(torch.float32)).to(HALF)
        if "small_elementwise" in self.on:
            residual += added
            squares = (residual * residual).mean(-1, keepdim=True)
            root = torch.rsqrt(squares + 1e-6)
            scaled = residual * root
            shifted = scaled * 1.0 + 0.0
            return shifted * weight
        return self.kernels.add_norm(residual, added, weight)

    def attend(self, layer: Layer, states: torch.Tensor) -> torch.Tensor:
        batch, tokens, _ = states.shape
        query, key, value = (
            part.view(batch, tokens, -1, HEAD).transpose(1, 2)
            for part in (states @ layer.qkv).chunk(3, -1))
        cache = self.caches[layer.number]
        if tokens > self.slot.numel():
            for kept, new in zip(cache, (key, value)):
                kept[:batch, :, :tokens].copy_(new)
            if "unfused_attention" in self.on:
                scores = query @ key.transpose(2, 3) / HEAD ** 0.5
                mask = torch.ones(tokens, tokens, device="cuda", dtype=torch.bool).tril()
                scores = scores.masked_fill(~mask, float("-inf"))
                made = torch.softmax(scores.float(), -1).to(HALF) @ value
            elif "efficient_attention" in self.on:
                with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
                    made = F.scaled_dot_product_attention(query, key, value, is_causal=True)
            else:
                made = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            if "cat_cache" in self.on:
                cache[0] = torch.cat((cache[0][:, :, 1:], key), 2)
                cache[1] = torch.cat((cache[1][:, :, 1:], value), 2)
            else:
                cache[0].index_copy_(2, self.slot[:tokens], key)
                cache[1].index_copy_(2, self.slot[:tokens], value)
            if "cache_reorder" in self.on:  # as a beam search that keeps its beams
                rows = torch.arange(batch, device="cuda")
                cache[:] = [kept.index_select(0, rows) for kept in cache]
            keys, values = cache
            if "layout_copies" in self.on:
                keys = keys.transpose(2, 3).contiguous().transpose(2, 3).contiguous()
                values = values.transpose(1, 2).contiguous().transpose(1, 2).contiguous()
            made = F.scaled_dot_product_attention(query, keys, values)
        return made.transpose(1, 2).reshape(batch, tokens, -1) @ layer.out

    def experts(self, layer: Layer, states: torch.Tensor) -> torch.Tensor:
        shape, flat = self.shape, states.reshape(-1, self.shape.hidden)
        scores, chosen = torch.topk(torch.softmax(flat @ layer.router, -1), shape.active)
        if "experts_loop" in self.on:
            made = torch.zeros_like(flat)
            for expert in range(shape.experts):
                rows, place = torch.where(chosen == expert)
                if rows.numel() == 0:
                    continue
                both = flat[rows] @ layer.gate_up[expert]
                gate, up = both.chunk(2, -1)
                one = (F.silu(gate) * up) @ layer.down[expert]
                made.index_add_(0, rows, one * scores[rows, place, None])
            return made.view_as(states)
        own = shape.experts // shape.ranks
        if "imbalance" in self.on:  # all tokens go to experts of the last rank
            chosen = chosen % own + shape.experts - own
        if shape.ranks > 1:  # counted from this rank's first; those of others get nothing here
            chosen = (chosen - self.rank * own) % shape.experts
        order = chosen.flatten().argsort()
        ends = torch.histc(chosen.flatten().float(), shape.experts, 0, shape.experts - 1)
        ends = ends.cumsum(0).to(torch.int32)[:own].contiguous()
        rows = flat[order // shape.active]
        both = torch._grouped_mm(rows, layer.gate_up, offs=ends)
        made = torch._grouped_mm(self.kernels.silu_mul(both), layer.down, offs=ends)
        if shape.ranks > 1:
            mine = chosen.flatten()[order] < own
            made = torch.where(mine[:, None], made, torch.zeros_like(made))
        back = torch.empty_like(made)
        back[order] = made
        return (back.view(-1, shape.active, shape.hidden)
                * scores[..., None]).sum(1).view_as(states)

    def network(self, layer: Layer, states: torch.Tensor) -> torch.Tensor:
        if self.shape.experts:
            return self.experts(layer, states)
        if "fp32_matmul" in self.on:
            if layer.wide is None:
                layer.wide = layer.gate_up.float()
            both = (states.float() @ layer.wide).to(HALF)
        else:
            both = states @ layer.gate_up
        return self.kernels.silu_mul(both) @ layer.down

    def few_blocks(self, states: torch.Tensor) -> None:
        """A kernel of eight blocks, and one of a wave and a bit, where the switch asks for it."""
        if "low_occupancy" in self.on:
            self.kernels.row_norms(self.head.view(-1, self.shape.hidden)[:512], 8)
        if "tail" in self.on:
            count = torch.cuda.get_device_properties(0).multi_processor_count
            self.kernels.spin(states.new_empty(1, dtype=torch.float32), 2 * count + 4, 40000)

    # ---- a forward pass ----

    def parts(self, ids: torch.Tensor) -> Iterator[torch.Tensor]:
        """A forward pass that stops where ranks meet: yields what they are to sum up in place."""
        residual = self.embedding[ids]
        added = torch.zeros_like(residual)
        for layer in self.layers:
            added = self.attend(layer, self.norm(residual, added, layer.norm_1))
            yield added
            added = self.network(layer, self.norm(residual, added, layer.norm_2))
            yield added

    def layer(self, layer: Layer, residual: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
        states = self.norm(residual, added, layer.norm_1)
        added = self.joined(self.attend(layer, states), layer.number)
        states = self.norm(residual, added, layer.norm_2)
        self.few_blocks(states)
        self.hook("layer", layer.number)
        return self.joined(self.network(layer, states), layer.number)

    def through(self, residual: torch.Tensor) -> torch.Tensor:
        """The states behind all layers; `residual` is written."""
        added = torch.zeros_like(residual)
        for layer in self.layers:
            added = self.layer(layer, residual, added)
        return self.norm(residual, added, self.layers[0].norm_1)

    def token_of(self, states: torch.Tensor) -> torch.Tensor:
        if "odd_vocabulary" in self.on:
            if self.odd_head is None:
                self.odd_head = self.head[:, 1:].contiguous()
            return (states[:, -1] @ self.odd_head).argmax(-1, keepdim=True)
        if "sorted_vocabulary" in self.on:  # top-p by sorting
            shares, order = torch.softmax(states[:, -1] @ self.head, -1).sort(-1, descending=True)
            within = (shares.cumsum(-1) < 0.9).sum(-1, keepdim=True)
            return order.gather(-1, within.clamp(max=order.shape[-1] - 1))
        return (states[:, -1] @ self.head).argmax(-1, keepdim=True)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """The next token of each sequence, [batch, 1]."""
        return self.token_of(self.through(self.embedding[ids]))
