"""mypy --strict over the package, and stubtest: the stub says what the package has. Needs mypy."""

import os
import subprocess
import sys

import support
from support import ROOT, Case

ENVIRON = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python"), "MYPY_CACHE_DIR": os.devnull}


class Stubs(Case):
    def passes(self, *arguments):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=os.path.join(ROOT, "python"), env=ENVIRON, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_strict(self):
        self.passes("-m", "mypy", "--strict", "wick")

    def test_stub(self):
        # ctypes makes the fields of its structs while the program runs; wick._train need not be built, and
        # python/train/write_stub.py writes its stub from the module itself.
        allowed = os.path.join(self.folder(), "allowed.txt")
        with open(allowed, "w", encoding="utf-8") as file:
            file.write("wick\\._abi\\..*\nwick\\._train.*\nwick\\.train.*\n")
        self.passes("-m", "mypy.stubtest", "wick", "--allowlist", allowed, "--ignore-unused-allowlist")

    def test_a_program_that_uses_it(self):
        path = os.path.join(self.folder(), "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        self.passes("-m", "mypy", "--strict", path)


PROGRAM = '''
import numpy as np
import wick

session = wick.InferenceSession("m.wick", wick.SessionOptions(), providers=["CPUExecutionProvider"])
names: list[str] = [a.name for a in session.get_inputs()]
outputs = session.run(None, {names[0]: np.zeros(3, np.float32)}, wick.RunOptions())
try:
    data: bytes = wick.compile("m.onnx")
except wick.CommandError as why:
    print(why.hint, why.code is wick.Code.COMMAND)
import wick.train as torch


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.fc(x)).sum(1)


net = Net()
loss = torch.nn.functional.mse_loss(net(torch.zeros(2, 3)), torch.ones(2))
loss.backward()
torch.optim.Adam(net.parameters(), lr=0.1).step()
if wick.verify("m.onnx").equal:
    print(wick.quantize("m.onnx", "q.wick", calibration=[np.zeros(3)]).files)
'''

if __name__ == "__main__":
    support.unittest.main()
