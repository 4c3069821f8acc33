# A small transformer block that learns to copy the first symbol of a sequence, with parameters of its own.
import math

import wick.train as torch  # import torch
from wick.train import nn  # from torch import nn
from wick.train.nn import functional as F  # from torch.nn import functional as F

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.norm(x)).split(C, dim=2)
        q, k, v = [t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).contiguous().view(B, T, C))
        return x + self.mlp(x)


class Model(nn.Module):
    def __init__(self, symbols, length, dim):
        super().__init__()
        self.symbols = nn.Embedding(symbols, dim)
        self.places = nn.Parameter(torch.randn(1, length, dim) / math.sqrt(dim))
        self.blocks = nn.ModuleList([Block(dim, 4) for _ in range(2)])
        self.head = nn.Linear(dim, symbols, bias=False)

    def forward(self, i):
        x = self.symbols(i) + self.places[:, : i.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, -1])


model = Model(8, 6, 32)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(150):
    batch = torch.randint(0, 8, (64, 6))
    loss = F.cross_entropy(model(batch), batch[:, 0])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
model.eval()
batch = torch.randint(0, 8, (200, 6))
accuracy = (model(batch).argmax(-1) == batch[:, 0]).float().mean().item()
print(loss.item(), accuracy)
assert accuracy > 0.95
