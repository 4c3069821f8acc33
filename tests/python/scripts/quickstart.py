# The quickstart: data loaders, a model class, a training loop, a test loop, saving and loading. Made-up images of bars.
import os
import sys

import wick.train as torch  # import torch
from wick.train import nn  # from torch import nn
from wick.train.utils.data import DataLoader, TensorDataset  # from torch.utils.data import ...

torch.manual_seed(0)


def bars(count):
    labels = torch.randint(0, 4, (count,))
    images = torch.randn(count, 1, 8, 8) * 0.3
    for i in range(count):
        k = labels[i].item()
        if k < 2:
            images[i, 0, 2 + 3 * k, :] += 1
        else:
            images[i, 0, :, 2 + 3 * (k - 2)] += 1
    return TensorDataset(images, labels)


train_dataloader = DataLoader(bars(512), batch_size=64, shuffle=True)
test_dataloader = DataLoader(bars(128), batch_size=64)


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(nn.Linear(8 * 8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        x = self.flatten(x)
        return self.linear_relu_stack(x)


model = NeuralNetwork()
print(model)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-1)


def train(dataloader, model, loss_fn, optimizer):
    model.train()
    for X, y in dataloader:
        pred = model(X)
        loss = loss_fn(pred, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def test(dataloader, model, loss_fn):
    size = len(dataloader.dataset)
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    return correct / size


for t in range(10):
    train(train_dataloader, model, loss_fn, optimizer)
accuracy = test(test_dataloader, model, loss_fn)
print(f"Accuracy: {100 * accuracy:>0.1f}%")
assert accuracy > 0.97

path = os.path.join(sys.argv[1], "model.npz")  # "model.pth"
torch.save(model.state_dict(), path)
model = NeuralNetwork()
model.load_state_dict(torch.load(path))
assert test(test_dataloader, model, loss_fn) == accuracy
