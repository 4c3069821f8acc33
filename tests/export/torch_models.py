"""models.cc in PyTorch 1.13: whole models, several inputs and outputs."""

import math

import torch
from torch import nn
from torch.nn import functional as F
from torch_corpus import BATCH, BATCH_IMAGE, BATCH_TIME, Form, Input, Program, ids_layer, layer, some_floats, some_ids
from torch_layers import TransformerBlock


class BasicBlock(nn.Module):
    def __init__(self, inside, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, out, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.downsample = None
        if inside != out or stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(inside, out, 1, stride=stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        h = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(h + (x if self.downsample is None else self.downsample(x)))


class ResNet8(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1, self.layer2, self.layer3 = BasicBlock(16, 16, 1), BasicBlock(16, 32, 2), BasicBlock(32, 64, 2)
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        h = self.layer3(self.layer2(self.layer1(F.relu(self.bn1(self.conv1(x))))))
        return self.fc(F.adaptive_avg_pool2d(h, 1).flatten(1))


def conv_norm_relu6(inside, out, kernel, stride=1, groups=1):
    return nn.Sequential(
        nn.Conv2d(inside, out, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(out), nn.ReLU6())


class InvertedResidual(nn.Module):
    def __init__(self, inside, out, stride, expand):
        super().__init__()
        wide = inside * expand
        self.shortcut = inside == out and stride == 1
        self.conv = nn.Sequential(
            *([conv_norm_relu6(inside, wide, 1)] if expand != 1 else []),
            conv_norm_relu6(wide, wide, 3, stride, wide), nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return self.conv(x) + x if self.shortcut else self.conv(x)


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            conv_norm_relu6(1, 16, 3), InvertedResidual(16, 16, 1, 1), InvertedResidual(16, 24, 2, 3),
            InvertedResidual(24, 24, 1, 3), InvertedResidual(24, 40, 2, 3), InvertedResidual(40, 40, 1, 3),
            conv_norm_relu6(40, 128, 1))
        self.classifier = nn.Linear(128, 10)

    def forward(self, x):
        return self.classifier(F.adaptive_avg_pool2d(self.features(x), 1).flatten(1))


class Mlp(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))

    def forward(self, x):
        return super().forward(x if x.dim() == 2 else x.flatten(1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = nn.Conv2d(3, 8, 3, padding=1)
        self.down2 = nn.Conv2d(8, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.last = nn.Conv2d(16, 2, 3, padding=1)

    def forward(self, x):
        a = F.relu(self.down1(x))
        b = F.relu(self.down2(F.max_pool2d(a, 2)))
        c = self.up(b)
        # An odd picture comes back smaller by one.
        c = F.pad(c, (0, a.size(3) - c.size(3), 0, a.size(2) - c.size(2)))
        return self.last(torch.cat([a, c], 1))


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.head = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        y = self.head(F.relu(self.stem(x)))
        return F.interpolate(y, size=(x.size(2), x.size(3)), mode="bilinear")


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, stride=4)
        self.block = TransformerBlock(16, 2)
        self.head = nn.Linear(16, 5)
        self.cls = nn.Parameter(some_floats(1, 1, 16))

    def forward(self, x):
        p = self.patches(x).flatten(2).transpose(1, 2)
        t = torch.cat([self.cls.expand(p.size(0), -1, -1), p], 1)
        return self.head(self.block(t)[:, 0])


class GPT(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_layers, num_heads, max_seq_len):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_seq_len, embed_dim)
        self.blocks = nn.ModuleList([TransformerBlock(embed_dim, num_heads) for _ in range(num_layers)])
        self.ln_f = nn.LayerNorm(embed_dim)
        self.lm_head = nn.Linear(embed_dim, vocab_size, bias=False)

    def forward(self, tokens):
        t = tokens.size(1)
        hidden = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
        x = self.token_embedding(tokens) + self.position_embedding(torch.arange(t))
        for block in self.blocks:
            x = block(x, hidden)
        return self.lm_head(self.ln_f(x))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 6, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(12, 4)

    def forward(self, ids):
        return F.log_softmax(self.tags(self.lstm(self.embed(ids))[0]), -1)


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.encoder = nn.GRU(8, 8, batch_first=True)
        self.decoder = nn.GRU(8, 8, batch_first=True)
        self.out = nn.Linear(16, 20)

    def forward(self, source, target):
        memory, h = self.encoder(self.embed(source))
        steps, _ = self.decoder(self.embed(target), h)
        context = torch.softmax(steps @ memory.transpose(1, 2), -1) @ memory
        return self.out(torch.cat([steps, context], 2))


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Linear(6, 4), nn.Linear(9, 4)

    def forward(self, u, i):
        a, b = self.user(u), self.item(i)
        a = a / torch.norm(a, 2.0, 1, keepdim=True)
        b = b / torch.norm(b, 2.0, 1, keepdim=True)
        return a @ b.t()


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 8 * 3 * 3)
        self.a = nn.ConvTranspose2d(8, 4, 4, stride=2, padding=1)
        self.b = nn.ConvTranspose2d(4, 1, 4, stride=2, padding=1)

    def forward(self, z):
        h = F.relu(self.up(z)).view(z.size(0), 8, 3, 3)
        return torch.sigmoid(self.b(F.relu(self.a(h))))


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 3)
        self.e0, self.e1, self.e2 = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        weights = torch.softmax(self.gate(x), -1)
        every = torch.stack([self.e0(x), self.e1(x), self.e2(x)], -2)
        return (every * weights.unsqueeze(-1)).sum(-2)


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.out = nn.Linear(4, 3)

    def embed(self, x):
        return self.out(F.relu(self.conv(x)).mean((2, 3)))

    def forward(self, a, b):
        return F.cosine_similarity(self.embed(a), self.embed(b), 1)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(4, 4, 3, padding=1)
        self.norm = nn.GroupNorm(2, 4)

    def forward(self, x):
        return F.silu(self.norm(self.a(x))) + x


class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Linear(4, 2), nn.Linear(2, 4)

    def forward(self, x):
        s = torch.sigmoid(self.up(F.relu(self.down(x.mean((2, 3))))))
        return x * s.view(x.size(0), 4, 1, 1)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Conv2d(4, 6, 1)

    def forward(self, x):
        y = self.head(x)  # [N, 2 * 3, H, W]
        n, _, h, w = y.shape
        y = y.view(n, 2, 3, h, w).permute(0, 1, 3, 4, 2).contiguous()
        columns = torch.arange(w).float().view(1, 1, 1, w)
        rows = torch.arange(h).float().view(1, 1, h, 1)
        px = (torch.sigmoid(y[..., 0]) + columns) / w
        py = (torch.sigmoid(y[..., 1]) + rows) / h
        return torch.stack([px, py, y[..., 2]], -1).reshape(n, -1, 3)


class CausalTransformer(nn.Transformer):
    def forward(self, source, target):
        mask = self.generate_square_subsequent_mask(target.size(1))
        return super().forward(source, target, tgt_mask=mask)


class PaddedLayer(nn.TransformerEncoderLayer):
    def forward(self, x, padding):
        return super().forward(x, src_key_padding_mask=padding)


class LstmWithStates(nn.LSTM):
    def forward(self, x, h, c):
        return super().forward(x, (h, c))


class LstmCellStep(nn.LSTMCell):
    def forward(self, x, h, c):
        return super().forward(x, (h, c))


class CrossAttention(nn.MultiheadAttention):
    def forward(self, query, memory):
        return super().forward(query, memory, memory, need_weights=False)[0]


def masked_mean(x, mask):
    m = mask.float().unsqueeze(-1)
    return (x * m).sum(1) / torch.clamp(m.sum(1), 1.0, 1e9)


def append_to_cache(past, now):
    kept = torch.cat([past, now], 1)
    scores = now @ kept.transpose(1, 2) / math.sqrt(now.size(-1))  # scaled_dot_product_attention is 2.0's
    return torch.softmax(scores, -1) @ kept, kept


def programs():
    source, target = {0: "batch", 1: "source"}, {0: "batch", 1: "target"}
    lenet = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10))
    yield layer("lenet", lenet, (2, 1, 28, 28), BATCH)
    yield layer("resnet8", ResNet8(), (2, 1, 28, 28), BATCH)
    yield layer("mobilenet", MobileNet(), (2, 1, 28, 28), BATCH)
    yield layer("mlp", Mlp(), (2, 1, 28, 28), BATCH)
    yield layer("unet", UNet(), (2, 3, 16, 12), BATCH_IMAGE)
    yield layer("segmenter", Segmenter(), (2, 3, 16, 12), BATCH_IMAGE)
    yield layer("vit", ViT(), (2, 3, 16, 12), BATCH)
    yield layer("vit_any_image", ViT(), (2, 3, 16, 12), BATCH_IMAGE)
    yield ids_layer("gpt", GPT(23, 16, 2, 2, 64), (2, 6), 23, BATCH_TIME)
    yield ids_layer("tagger", Tagger(), (2, 6), 20, BATCH_TIME)
    yield layer("vae_decoder", Vae(), (2, 4), BATCH)
    yield layer("experts", Experts(), (2, 6, 8), BATCH_TIME)
    yield layer("residual", Residual(), (2, 4, 12, 10), BATCH_IMAGE)
    yield layer("squeeze_excite", SqueezeExcite(), (2, 4, 12, 10), BATCH_IMAGE)
    yield layer("detector", Detector(), (2, 4, 12, 10), BATCH_IMAGE)
    yield Program("seq2seq", Seq2Seq(), [
        Input("source", some_ids(20, 2, 6), source), Input("target", some_ids(20, 2, 4), target)])
    yield Program("two_towers", TwoTowers(), [
        Input("user", some_floats(2, 6), {0: "users"}), Input("item", some_floats(5, 9), {0: "items"})])
    yield Program("siamese", Siamese(), [
        Input("left", some_floats(2, 1, 9, 9), BATCH), Input("right", some_floats(2, 1, 9, 9), BATCH)])
    pair = [Input("source", some_floats(2, 6, 8), source), Input("target", some_floats(2, 4, 8), target)]
    yield Program("transformer", nn.Transformer(8, 2, 1, 1, dim_feedforward=16, batch_first=True), pair)
    yield Program("transformer_causal", CausalTransformer(8, 2, 1, 1, dim_feedforward=16, batch_first=True), pair)
    yield Program("encoder_with_padding", PaddedLayer(8, 2, dim_feedforward=16, batch_first=True), [
        Input("x", some_floats(2, 6, 8), BATCH_TIME), Input("padding", some_floats(2, 6) > 0.9, BATCH_TIME)])
    state = {1: "batch"}
    yield Program("lstm_with_states", LstmWithStates(8, 5, batch_first=True), [
        Input("x", some_floats(2, 6, 8), BATCH_TIME), Input("h", some_floats(1, 2, 5), state),
        Input("c", some_floats(1, 2, 5), state)])
    yield Program("lstm_cell_step", LstmCellStep(8, 5), [
        Input("x", some_floats(2, 8), BATCH), Input("h", some_floats(2, 5), BATCH),
        Input("c", some_floats(2, 5), BATCH)])
    yield Program("cross_attention", CrossAttention(8, 2, batch_first=True), [
        Input("query", some_floats(2, 4, 8), target), Input("memory", some_floats(2, 6, 8), source)])
    x = Input("x", some_floats(2, 6, 8), BATCH_TIME)
    yield Program("several_outputs", Form(lambda x: (torch.relu(x), x.mean(1), torch.argmax(x, 2))), [x])
    yield Program("input_returned", Form(lambda x: (torch.relu(x), torch.relu(x) + 0)), [x])
    yield Program("masked_mean", Form(masked_mean), [x, Input("mask", some_floats(2, 6) > -0.5, BATCH_TIME)])
    yield Program("lookup", Form(lambda table, ids: F.embedding(ids, table)), [
        Input("table", some_floats(7, 4), {0: "rows"}), Input("ids", some_ids(7, 2, 6), BATCH_TIME)])
    yield Program("append_to_cache", Form(append_to_cache), [
        Input("past", some_floats(2, 5, 8), {0: "batch", 1: "past"}), Input("now", some_floats(2, 1, 8), BATCH)])
