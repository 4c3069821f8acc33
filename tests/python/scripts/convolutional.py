# The sixty-minute blitz: a convolutional net by hand-written loops, with momentum, a schedule and clipping.
import wick.train as torch  # import torch
import wick.train.nn as nn  # import torch.nn as nn
import wick.train.nn.functional as F  # import torch.nn.functional as F
import wick.train.optim as optim  # import torch.optim as optim

torch.manual_seed(1)
labels = torch.arange(300) % 3
images = torch.randn(300, 1, 12, 12) * 0.2
for i in range(300):
    k = labels[i].item()
    images[i, 0, 2 * k : 2 * k + 4, 3:9] += 1.0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 12, 3)
        self.norm = nn.BatchNorm2d(12)
        self.fc1 = nn.Linear(12 * 3 * 3, 32)
        self.drop = nn.Dropout(0.1)
        self.fc2 = nn.Linear(32, 3)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = F.relu(self.norm(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = self.drop(F.relu(self.fc1(x)))
        return self.fc2(x)


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)
for epoch in range(6):
    running_loss = 0.0
    for i in range(0, 300, 30):
        inputs, targets = images[i : i + 30], labels[i : i + 30]
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        running_loss += loss.item()
    scheduler.step()
    print(f"[{epoch + 1}] loss: {running_loss / 10:.3f} lr: {scheduler.get_last_lr()[0]}")
net.eval()
with torch.no_grad():
    _, predicted = torch.max(net(images), 1)
assert (predicted == labels).sum().item() >= 297
