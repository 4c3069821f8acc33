"""An installed wheel, as a user has it: smoke.py MODEL.wick. Prints what it ran; any failure is an exception.

Imports nothing of the tree, so that it also runs where a wheel alone is.
"""

import sys
import time

import numpy as np

begin = time.perf_counter()
import wick  # noqa: E402: timed

wick.InferenceSession
took = (time.perf_counter() - begin) * 1e3

session = wick.InferenceSession(sys.argv[1])
feed = {a.name: np.ones([d if isinstance(d, int) else 1 for d in a.shape], np.float32) for a in session.get_inputs()}
outputs = session.run(None, feed)
again = session.run(None, feed)
for one, other in zip(outputs, again):
    assert one.tobytes() == other.tobytes()
print(f"wick {wick.__version__}: {[o.shape for o in outputs]}, imported in {took:.1f} ms, {wick.get_available_providers()}")
