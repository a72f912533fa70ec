"""A decoder of the Llama kind in plain PyTorch, dense or mixture of experts.

Written as model repositories write it, one operation after the other, because
that is what is to be profiled: nothing is fused that they do not fuse. Modules
are named as in Hugging Face checkpoints, except that a layer's experts are
three stacked weights instead of three per expert.
"""

from __future__ import annotations

import math
from typing import Any, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import nn

from workload_common import USAGE, WorkloadError
from workload_models import DecoderConfig


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mode: str,
           mask: Optional[torch.Tensor] = None, causal: bool = False) -> torch.Tensor:
    """Attention over [batch, heads, length, head_dim]; mask is added to the scores."""
    if mode == "sdpa":
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask,
                                              is_causal=causal)
    scores = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(query.shape[-1])
    if causal:
        length = query.shape[2]
        mask = torch.full((length, length), float("-inf"), dtype=query.dtype,
                          device=query.device).triu(1)
    if mask is not None:
        scores = scores + mask
    weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
    return torch.matmul(weights, value)


class RMSNorm(nn.Module):
    def __init__(self, width: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * wide.to(x.dtype)


# ---- positions ----

class Rope:
    """Rotary positions. Its frequencies are no parameters: made on first use."""

    def __init__(self, head_dim: int, theta: float):
        self.head_dim, self.theta = head_dim, theta
        self.frequencies: Optional[torch.Tensor] = None

    def angles(self, positions: torch.Tensor, dtype: torch.dtype) -> Tuple[torch.Tensor, ...]:
        """cos and sin of each position, [length, head_dim]."""
        if self.frequencies is None or self.frequencies.device != positions.device:
            even = torch.arange(0, self.head_dim, 2, dtype=torch.float32, device=positions.device)
            self.frequencies = 1.0 / self.theta ** (even / self.head_dim)
        angles = torch.outer(positions.to(torch.float32), self.frequencies)
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


# ---- keys and values of the past ----

class DynamicCache:
    """Grows by concatenation, as model repositories do it."""

    def __init__(self, layers: int):
        self.layers = layers
        self.reset()

    def reset(self) -> None:
        self.keys: List[Any] = [None] * self.layers
        self.values: List[Any] = [None] * self.layers
        self.length = 0

    def positions(self, count: int, device: torch.device) -> torch.Tensor:
        return torch.arange(self.length, self.length + count, device=device)

    def mask(self) -> Optional[torch.Tensor]:
        return None

    def update(self, layer: int, key: torch.Tensor,
               value: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        """Append; all keys and values so far."""
        if self.keys[layer] is not None:
            key = torch.cat((self.keys[layer], key), dim=2)
            value = torch.cat((self.values[layer], value), dim=2)
        self.keys[layer], self.values[layer] = key, value
        return key, value

    def advance(self, count: int) -> None:
        self.length += count


class StaticCache:
    """Allocated once; the length is a tensor, so that a step can be captured.

    A step attends to the whole allocation, with what is not yet written masked.
    """

    def __init__(self, config: DecoderConfig, batch: int, length: int, device: torch.device,
                 dtype: torch.dtype):
        shape = (batch, config.num_key_value_heads, length, config.head_dim)
        layers = range(config.num_hidden_layers)
        self.keys = [torch.zeros(shape, device=device, dtype=dtype) for _ in layers]
        self.values = [torch.zeros(shape, device=device, dtype=dtype) for _ in layers]
        self.slots = torch.arange(length, device=device)
        self.position = torch.zeros(1, dtype=torch.long, device=device)
        self.filled = False
        self.dtype = dtype

    def reset(self) -> None:
        self.position.zero_()
        self.filled = False

    def positions(self, count: int, device: torch.device) -> torch.Tensor:
        return self.slots[:count] if not self.filled else self.position

    def mask(self) -> Optional[torch.Tensor]:
        if not self.filled:
            return None
        mask = torch.zeros(self.slots.shape, device=self.slots.device, dtype=self.dtype)
        return mask.masked_fill(self.slots > self.position, float("-inf")).view(1, 1, 1, -1)

    def update(self, layer: int, key: torch.Tensor,
               value: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        slots = self.positions(key.shape[2], key.device)
        self.keys[layer].index_copy_(2, slots, key)
        self.values[layer].index_copy_(2, slots, value)
        return (self.keys[layer], self.values[layer]) if self.filled else (key, value)

    def advance(self, count: int) -> None:
        self.position.add_(count)
        self.filled = True


# ---- layers ----

def repeat_heads(x: torch.Tensor, times: int) -> torch.Tensor:
    """Each key or value head once per query head that shares it."""
    if times == 1:
        return x
    batch, heads, length, width = x.shape
    x = x[:, :, None].expand(batch, heads, times, length, width)
    return x.reshape(batch, heads * times, length, width)


class Attention(nn.Module):
    def __init__(self, config: DecoderConfig, layer: int, mode: str):
        super().__init__()
        self.config, self.layer, self.mode = config, layer, mode
        hidden, dim = config.hidden_size, config.head_dim
        queries, keys = config.num_attention_heads * dim, config.num_key_value_heads * dim
        self.q_proj = nn.Linear(hidden, queries, bias=config.qkv_bias)
        self.k_proj = nn.Linear(hidden, keys, bias=config.qkv_bias)
        self.v_proj = nn.Linear(hidden, keys, bias=config.qkv_bias)
        self.o_proj = nn.Linear(queries, hidden, bias=config.o_bias)
        if config.qk_norm:
            self.q_norm = RMSNorm(dim, config.rms_norm_eps)
            self.k_norm = RMSNorm(dim, config.rms_norm_eps)

    def forward(self, x: torch.Tensor, angles: Tuple[torch.Tensor, ...], cache: Any,
                mask: Optional[torch.Tensor]) -> torch.Tensor:
        batch, length, _ = x.shape
        shape = (batch, length, -1, self.config.head_dim)
        query, key = self.q_proj(x).view(shape), self.k_proj(x).view(shape)
        if self.config.qk_norm:
            query, key = self.q_norm(query), self.k_norm(key)
        query = rotate(query.transpose(1, 2), *angles)
        key = rotate(key.transpose(1, 2), *angles)
        value = self.v_proj(x).view(shape).transpose(1, 2)
        key, value = cache.update(self.layer, key, value)
        shared = self.config.num_attention_heads // self.config.num_key_value_heads
        out = attend(query, repeat_heads(key, shared), repeat_heads(value, shared), self.mode,
                     mask, causal=length > 1)
        return self.o_proj(out.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self, hidden: int, width: int):
        super().__init__()
        self.gate_proj = nn.Linear(hidden, width, bias=False)
        self.up_proj = nn.Linear(hidden, width, bias=False)
        self.down_proj = nn.Linear(width, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Experts(nn.Module):
    """The routed experts of a layer, by one of three paths.

    loop     tokens sorted by expert, one gemm after the other; how many tokens
             each has is read on the CPU, which waits for the GPU in each layer
    grouped  the same, with torch's grouped gemm, which reads it on the GPU
    gather   the chosen experts' weights copied side by side and multiplied in a
             batch: shapes do not depend on the routing, so it can be captured
    """

    def __init__(self, config: DecoderConfig):
        super().__init__()
        count, hidden = config.n_routed_experts, config.hidden_size
        width = config.moe_intermediate_size
        self.gate_proj = nn.Parameter(torch.empty(count, width, hidden))
        self.up_proj = nn.Parameter(torch.empty(count, width, hidden))
        self.down_proj = nn.Parameter(torch.empty(count, hidden, width))

    def forward(self, x: torch.Tensor, chosen: torch.Tensor, path: str) -> torch.Tensor:
        """x [tokens, hidden], chosen [tokens, k]; [tokens * k, hidden], unweighted."""
        return getattr(self, path)(x, chosen)

    def loop(self, x: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        order = chosen.reshape(-1).argsort()
        rows = x[order // chosen.shape[1]]
        hits = torch.zeros(len(x), len(self.gate_proj), dtype=torch.int32, device=x.device)
        counts = hits.scatter_(1, chosen, 1).sum(dim=0).tolist()  # waits for the GPU
        outputs, first = [], 0
        for expert, count in enumerate(counts):
            if count == 0:
                continue
            mine = rows[first:first + count]
            inner = F.silu(F.linear(mine, self.gate_proj[expert])) \
                * F.linear(mine, self.up_proj[expert])
            outputs.append(F.linear(inner, self.down_proj[expert]))
            first += count
        return self.unsort(torch.cat(outputs), order)

    def grouped(self, x: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        flat = chosen.reshape(-1)
        order = flat.argsort()
        rows = x[order // chosen.shape[1]]
        counts = torch.zeros(len(self.gate_proj), dtype=torch.int32, device=x.device)
        counts.scatter_add_(0, flat, torch.ones_like(flat, dtype=torch.int32))
        ends = counts.cumsum(0, dtype=torch.int32)
        multiply = grouped_gemm()
        gate = multiply(rows, self.gate_proj.transpose(1, 2), offs=ends)
        up = multiply(rows, self.up_proj.transpose(1, 2), offs=ends)
        return self.unsort(
            multiply(F.silu(gate) * up, self.down_proj.transpose(1, 2), offs=ends), order)

    def gather(self, x: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        flat = chosen.reshape(-1)
        rows = x[:, None].expand(-1, chosen.shape[1], -1).reshape(len(flat), -1, 1)
        gate = torch.bmm(self.gate_proj.index_select(0, flat), rows)
        up = torch.bmm(self.up_proj.index_select(0, flat), rows)
        return torch.bmm(self.down_proj.index_select(0, flat), F.silu(gate) * up).squeeze(2)

    @staticmethod
    def unsort(sorted_rows: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(sorted_rows)
        out[order] = sorted_rows
        return out


def grouped_gemm() -> Any:
    """torch.nn.functional.grouped_mm, or what it was called before; None in an old PyTorch."""
    return getattr(F, "grouped_mm", None) or getattr(torch, "_grouped_mm", None)


class MixtureOfExperts(nn.Module):
    def __init__(self, config: DecoderConfig, paths: Tuple[str, str]):
        super().__init__()
        self.config, self.paths = config, paths
        self.gate = nn.Linear(config.hidden_size, config.n_routed_experts, bias=False)
        self.experts = Experts(config)
        if config.n_shared_experts:
            self.shared_experts = FeedForward(
                config.hidden_size, config.n_shared_experts * config.moe_intermediate_size)

    def route(self, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        if self.config.router_fp32:
            logits = F.linear(x.to(torch.float32), self.gate.weight.to(torch.float32))
        else:
            logits = self.gate(x)
        scores = F.softmax(logits, dim=-1, dtype=torch.float32)
        weights, chosen = torch.topk(scores, self.config.num_experts_per_tok, dim=-1)
        if self.config.norm_topk_prob:
            weights = weights / weights.sum(dim=-1, keepdim=True)
        return weights, chosen

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.view(-1, x.shape[-1])
        weights, chosen = self.route(flat)
        path = self.paths[0] if x.shape[1] > 1 else self.paths[1]
        out = self.experts(flat, chosen, path).view(*chosen.shape, -1)
        out = (out * weights.unsqueeze(-1).to(out.dtype)).sum(dim=1)
        if self.config.n_shared_experts:
            out = out + self.shared_experts(flat)
        return out.view(x.shape)


class Layer(nn.Module):
    def __init__(self, config: DecoderConfig, index: int, attention: str,
                 experts: Tuple[str, str]):
        super().__init__()
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config, index, attention)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        if config.is_moe(index):
            self.mlp: nn.Module = MixtureOfExperts(config, experts)
        else:
            self.mlp = FeedForward(config.hidden_size, config.intermediate_size)

    def forward(self, x: torch.Tensor, angles: Tuple[torch.Tensor, ...], cache: Any,
                mask: Optional[torch.Tensor]) -> torch.Tensor:
        x = x + self.self_attn(self.input_layernorm(x), angles, cache, mask)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    """Embedding, layers, last norm and output layer.

    experts: the paths that prefill and decode steps take through the experts.
    """

    def __init__(self, config: DecoderConfig, attention: str = "sdpa",
                 experts: Tuple[str, str] = ("loop", "loop")):
        super().__init__()
        self.config = config
        self.rope = Rope(config.head_dim, config.rope_theta)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config, index, attention, experts)
                                    for index in range(config.num_hidden_layers))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.tie()

    def tie(self) -> None:
        if self.config.tie_word_embeddings:
            self.lm_head.weight = self.embed_tokens.weight

    def forward(self, embeddings: torch.Tensor, cache: Any) -> torch.Tensor:
        """Logits of the last position, [batch, vocabulary], in fp32."""
        length = embeddings.shape[1]
        positions = cache.positions(length, embeddings.device)
        angles = self.rope.angles(positions, embeddings.dtype)
        mask = cache.mask()
        x = embeddings
        for layer in self.layers:
            x = layer(x, angles, cache, mask)
        cache.advance(length)
        return self.lm_head(self.norm(x[:, -1:]))[:, -1].to(torch.float32)


# ---- making one ----

def expert_paths(experts: str, static: bool) -> Tuple[str, str]:
    """The paths of prefill and of decode steps for --experts."""
    if experts == "grouped":
        return "grouped", "grouped"
    return "loop", "gather" if static or experts == "gather" else "loop"


def check_grouped(device: torch.device, dtype: torch.dtype) -> None:
    """Try a small grouped gemm, rather than fail in the middle of a run."""
    multiply = grouped_gemm()
    if multiply is None:
        raise WorkloadError(f"--experts grouped: PyTorch {torch.__version__} has no grouped gemm",
                            USAGE)
    try:
        multiply(torch.zeros(16, 32, device=device, dtype=dtype),
                 torch.zeros(2, 64, 32, device=device, dtype=dtype).transpose(1, 2),
                 offs=torch.tensor([8, 16], device=device, dtype=torch.int32))
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[0]
        raise WorkloadError(f"--experts grouped does not work on this device with this dtype: "
                            f"{reason}", USAGE) from error


def count_parameters(module: nn.Module) -> int:
    """Each once, also where two layers share them."""
    return sum(parameter.numel() for parameter in module.parameters())


@torch.no_grad()
def materialise(module: nn.Module, device: torch.device, dtype: torch.dtype, seed: int) -> None:
    """Give a module made on the meta device memory and random weights."""
    module.to(dtype).to_empty(device=device)
    for part in module.modules():
        if isinstance(part, Decoder):
            part.tie()  # new memory has undone it
    dice = torch.Generator(device=device).manual_seed(seed)
    for part in module.modules():
        norm = "Norm" in type(part).__name__
        for name, parameter in part.named_parameters(recurse=False):
            if name == "bias":
                parameter.zero_()
            elif norm:
                parameter.fill_(1.0)
            else:
                parameter.normal_(0.0, 0.02, generator=dice)
    module.requires_grad_(False).eval()
