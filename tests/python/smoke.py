"""An installed wheel, as a user has it: smoke.py MODEL.wick [SHA256]. Prints what it ran; any failure is an exception.

SHA256: of what the model makes of ones on processors with FMA. A library that takes this one for an older makes other bits,
and is slower by far.

Imports nothing of the tree, so that it also runs where a wheel alone is.
"""

import hashlib
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
if len(sys.argv) > 2:
    found = hashlib.sha256(b"".join(o.tobytes() for o in outputs)).hexdigest()
    assert found.startswith(sys.argv[2]), f"the outputs' SHA-256 is {found}, not {sys.argv[2]}: which instructions does the library take?"
print(f"wick {wick.__version__}: {[o.shape for o in outputs]}, imported in {took:.1f} ms, {wick.get_available_providers()}")
