"""forms.cc in PyTorch 1.13: what people do with sizes, as they write it there."""

import math

import torch
from torch.nn import functional as F
from torch_corpus import BATCH_TIME, Form, layer

FORMS = {}


def form(f):
    FORMS[f.__name__] = f
    return f


@form
def view_by_size(x):
    return x.view(x.size(0), -1)


@form
def heads_by_reshape(x):
    return x.reshape(x.size(0), x.size(1), 2, 4).transpose(1, 2).contiguous()


@form
def heads_and_back(x):
    h = x.reshape(x.size(0), x.size(1), 2, 4).transpose(1, 2)
    return torch.relu(h).transpose(1, 2).reshape(x.size(0), x.size(1), 8)


@form
def select_the_last(x):
    return x[:, -1]


@form
def slice_to_the_end(x):
    return x[:, 1:x.size(1)]


@form
def slice_to_half(x):
    return x[:, :x.size(1) // 2]


@form
def zeros_of_the_batch(x):
    return torch.cat([torch.zeros(x.size(0), 1, 8), x], 1)


@form
def zeros_like(x):
    return torch.cat([x, torch.zeros_like(x)], 2)


@form
def ones_like(x):
    return x * 2 + torch.ones_like(x)


@form
def arange_of_time(x):
    return x + torch.arange(x.size(1)).float().unsqueeze(-1)


@form
def expand(x):
    return x[:, :1].expand(x.size(0), x.size(1), 8) + x


@form
def expand_minus_one(x):
    return torch.ones(1, 1, 8).expand(x.size(0), x.size(1), -1) + x


@form
def repeat(x):
    return x[:, :1].repeat(1, x.size(1), 1) + x


@form
def roll(x):
    return torch.roll(x, 1, 1)


@form
def roll_by_half(x):
    return torch.roll(x, x.size(1) // 2, 1)


@form
def sort(x):
    return torch.sort(x, 1).values


@form
def var(x):
    return torch.var(x, 1)


@form
def std(x):
    return torch.std(x, 1, unbiased=True)


@form
def chunk(x):
    a, b = x.chunk(2, -1)
    return a * torch.sigmoid(b)


@form
def divide_by_time(x):
    return x / x.size(1)


@form
def divide_by_root(x):
    return x / math.sqrt(x.size(1))


@form
def mean_by_hand(x):
    return x.sum(1) / x.size(1)


@form
def center(x):
    return x - x.mean(1, keepdim=True)


@form
def normalize(x):
    return x / (torch.sqrt((x * x).sum(2, keepdim=True)) + 1e-6)


@form
def flatten(x):
    return torch.flatten(x, 1)


@form
def flatten_all(x):
    return x.reshape(-1)


@form
def fold_time_into_batch(x):
    return x.reshape(x.size(0) * x.size(1), 8)


@form
def fold_and_unfold(x):
    return torch.relu(x.reshape(-1, 8)).view(x.size(0), x.size(1), 8)


@form
def numel(x):
    return x.reshape(x.numel())


@form
def first_and_last(x):
    return torch.cat([x[:, 0], x[:, x.size(1) - 1]], 1)


@form
def differences(x):
    return x[:, 1:x.size(1)] - x[:, :x.size(1) - 1]


@form
def shift(x):
    return torch.cat([torch.zeros(x.size(0), 1, 8), x[:, :x.size(1) - 1]], 1)


@form
def flip(x):
    return torch.flip(x, [1])


@form
def cumsum(x):
    return torch.cumsum(x, 1)


@form
def cumulative_mean(x):
    return torch.cumsum(x, 1) / torch.arange(1, x.size(1) + 1).float().unsqueeze(-1)


@form
def even_places(x):
    return x[:, 0:x.size(1):2]


@form
def causal_softmax(x):
    scores = x @ x.transpose(1, 2)
    mask = torch.tril(torch.ones(x.size(1), x.size(1), dtype=torch.bool))
    return torch.softmax(torch.where(mask, scores, torch.tensor(-math.inf)), -1)


@form
def create_causal_mask(x):  # scaled_dot_product_attention is PyTorch 2.0's
    mask = torch.tril(torch.ones(x.size(1), x.size(1), dtype=torch.bool))
    scores = x @ x.transpose(1, 2) / math.sqrt(x.size(-1))
    return torch.softmax(scores.masked_fill(~mask, -math.inf), -1) @ x


@form
def masked_fill(x):
    mask = torch.triu(torch.ones(x.size(1), x.size(1), dtype=torch.bool), 1)
    return (x @ x.transpose(1, 2)).masked_fill(mask, -1e9)


@form
def relative_places(x):
    at = torch.arange(x.size(1))
    far = (at.unsqueeze(0) - at.unsqueeze(1)).abs().float()
    return torch.softmax(-far, -1) @ x


@form
def sinusoids(x):
    at = torch.arange(x.size(1)).float().unsqueeze(1)
    rate = torch.exp(torch.arange(0, 8, 2).float() * (-math.log(10000.0) / 8))
    return x + torch.cat([torch.sin(at * rate), torch.cos(at * rate)], 1)


@form
def topk(x):
    return torch.topk(x, 3, 2).values


@form
def topk_half(x):
    return torch.topk(x, x.size(1) // 2, 1).values


@form
def argmax(x):
    return torch.argmax(x, 1)


@form
def one_hot(x):
    return F.one_hot(torch.argmax(x, 2), 8).float()


@form
def gather_max(x):
    return torch.gather(x, 1, torch.argmax(x, 1, keepdim=True))


@form
def outer(x):
    return torch.einsum("bti,btj->bij", x, x)


@form
def attention_by_hand(x):
    return torch.softmax(x @ x.transpose(1, 2) / math.sqrt(8.0), -1) @ x


@form
def pad_time(x):
    return F.pad(x, (0, 0, 2, 1))


@form
def pad_to_even(x):
    return F.pad(x, (0, 0, 0, x.size(1) % 2))


@form
def stack(x):
    return torch.stack([x, torch.relu(x)], 1)


@form
def unbind(x):
    a, b = torch.unbind(x.reshape(x.size(0), x.size(1), 2, 4), 2)
    return a + b


@form
def rotate_half(x):
    return torch.cat([-x[..., 4:], x[..., :4]], -1)


@form
def write_a_row(x):
    y = x.clone()
    y[:, 0] = 0
    return y


@form
def write_the_last_row(x):
    y = x.clone()
    y[:, -1] = 1
    return y


@form
def copy_into_zeros(x):
    y = torch.zeros(x.size(0), x.size(1) + 2, 8)
    y[:, 1:x.size(1) + 1] = x
    return y


@form
def add_in_place(x):
    y = torch.relu(x)
    y += x
    y *= 2
    return y


@form
def clamp_by_size(x):
    return torch.clamp(x * 100, 0, x.size(1))


@form
def max_of_sizes(x):
    return x[:, :max(x.size(1) - 3, 1)]


@form
def min_of_sizes(x):
    return x[:, :min(x.size(1), 4)]


@form
def blocks_of_two(x):
    n = x.size(1) // 2
    return x[:, :2 * n].reshape(x.size(0), n, 2, 8).mean(2)


@form
def linspace_free(x):
    return x * torch.full((x.size(1), 1), 0.5)


@form
def identity_times(x):
    return torch.eye(x.size(1)) @ x


@form
def diagonal(x):
    return torch.diagonal(x @ x.transpose(1, 2), 0, 1, 2)


@form
def norm(x):
    return torch.norm(x, 2.0, 2)


@form
def logsumexp(x):
    return torch.logsumexp(x, 1)


@form
def quantiles(x):
    return torch.median(x, 1).values


@form
def cdist(x):
    return torch.cdist(x, x)


@form
def bmm(x):
    return torch.bmm(x, x.transpose(1, 2))


@form
def squeeze_unsqueeze(x):
    return x.unsqueeze(1).squeeze(1) + 1


@form
def movedim(x):
    return torch.movedim(x, 1, 0).contiguous()


@form
def permute(x):
    return x.permute(2, 0, 1).reshape(8, -1)


@form
def scalar_of_batch(x):
    return x.sum(0) / x.size(0)


@form
def comparison(x):
    return (x > 0).float() * x


@form
def index_select(x):
    return torch.index_select(x, 2, torch.tensor([3, 1, 2]))


def programs():
    for name, f in FORMS.items():
        yield layer(name, Form(f), (2, 6, 8), BATCH_TIME)
