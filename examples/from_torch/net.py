"""main.cc's net in PyTorch.

    net.py save DIR     weights.safetensors (names as DataParallel has them), input and output
    net.py check DIR    wick.safetensors goes into the net, strictly, and the outputs agree
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/scripts"))
import torch  # noqa: E402
import torch.nn as nn  # noqa: E402

import torch_interchange as interchange  # noqa: E402


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.lstm = nn.LSTM(32, 16, num_layers=2, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(32, 5)

    def forward(self, x):  # [N, 1, 8, 8]
        h = self.features(x).flatten(1, 2).transpose(1, 2)  # columns as time: [N, 4, 32]
        return self.fc(self.lstm(h)[0][:, -1])


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    command, folder = sys.argv[1:]
    net = Net()
    if command == "save":
        for _ in range(3):
            net(torch.randn(16, 1, 8, 8) * 2 + 1)  # statistics that are not 0 and 1
        net.eval()
        x = torch.randn(6, 1, 8, 8)
        interchange.save(os.path.join(folder, "weights.safetensors"),
                         {"module." + k: v for k, v in net.state_dict().items()})
        interchange.save(os.path.join(folder, "example.safetensors"), {"input": x, "output": net(x)})
        return
    given = interchange.load(os.path.join(folder, "wick.safetensors"))
    x, want = given.pop("example.input"), given.pop("example.output")
    net.load_state_dict(given, strict=True)
    net.eval()
    off = (net(x) - want).abs().max().item()
    print(f"PyTorch with Wick's weights: {len(given)} tensors, outputs differ by at most {off:.1e}")
    sys.exit(off > 1e-6)


main()
