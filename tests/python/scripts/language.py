# A language model of a TransformerEncoder: positions in a buffer, a causal mask, a schedule, clipped gradients, and the best
# weights kept by deepcopy.
import copy
import math

import wick.train as torch  # import torch
from wick.train import Tensor, nn  # from torch import nn, Tensor
from wick.train.nn import TransformerEncoder, TransformerEncoderLayer  # from torch.nn import ...

torch.manual_seed(0)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 64):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.pe[: x.size(0)]
        return self.dropout(x)


class TransformerModel(nn.Module):
    def __init__(self, ntoken: int, d_model: int, nhead: int, d_hid: int, nlayers: int, dropout: float = 0.1):
        super().__init__()
        self.pos_encoder = PositionalEncoding(d_model, dropout)
        encoder_layers = TransformerEncoderLayer(d_model, nhead, d_hid, dropout)
        self.transformer_encoder = TransformerEncoder(encoder_layers, nlayers)
        self.embedding = nn.Embedding(ntoken, d_model)
        self.d_model = d_model
        self.linear = nn.Linear(d_model, ntoken)
        self.init_weights()

    def init_weights(self) -> None:
        initrange = 0.1
        self.embedding.weight.data.uniform_(-initrange, initrange)
        self.linear.bias.data.zero_()
        self.linear.weight.data.uniform_(-initrange, initrange)

    def forward(self, src: Tensor, src_mask: Tensor = None) -> Tensor:
        src = self.embedding(src) * math.sqrt(self.d_model)
        src = self.pos_encoder(src)
        if src_mask is None:
            src_mask = nn.Transformer.generate_square_subsequent_mask(len(src)).to(device)
        output = self.transformer_encoder(src, src_mask)
        return self.linear(output)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
ntokens = 7
data = (torch.arange(33) % ntokens).reshape(33, 1).repeat(1, 4).to(device)  # 0 1 2 3 4 5 6 0 1 ...
model = TransformerModel(ntokens, 16, 2, 32, 2).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10, gamma=0.95)
best_loss, best = float("inf"), None
for epoch in range(60):
    model.train()
    output = model(data[:-1])
    loss = criterion(output.view(-1, ntokens), data[1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    scheduler.step()
    if loss.item() < best_loss:
        best_loss, best = loss.item(), copy.deepcopy(model)
best.eval()
with torch.inference_mode():
    right = (best(data[:-1]).argmax(-1) == data[1:]).float().mean().item()
print(best_loss, right, scheduler.get_last_lr())
assert right > 0.9
