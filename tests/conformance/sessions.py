#!/usr/bin/env python3
"""Creates an ONNX Runtime session for every model of a folder: what Wick wrote must be what another runtime loads.

  sessions.py FOLDER      exit 0 when all load, 1 when one does not, 3 when onnxruntime is not installed

A model that ONNX Runtime cannot run for reasons of its own is counted apart: an opset newer than it knows, an
operator it has no kernel for in a dtype, a form it says it does not support, or a locale that the machine lacks.
"""

import collections
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tools", "scripts"))
import ort_run  # noqa: E402
OWN_LIMITS = {
    "ValidateOpsetForDomain": "opset not known to it",
    "NOT_IMPLEMENTED": "no kernel for the dtype",
    "Failed to construct locale": "locale of the model not installed",
    "Batchwise recurrent operations (layout == 1) are not supported": "layout 1 not supported",
}


def main():
    ort_run.reexec()
    try:
        import onnxruntime as ort
    except ImportError:
        print("onnxruntime is not installed (make setup tries to)")
        return 3
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    folder = sys.argv[1]
    files = sorted(f for f in os.listdir(folder) if f.endswith(".onnx"))
    loaded, limits, failed = 0, collections.Counter(), 0
    for name in files:
        try:
            ort.InferenceSession(os.path.join(folder, name), options, providers=["CPUExecutionProvider"])
            loaded += 1
        except Exception as e:  # its exceptions have no common base
            why = next((w for text, w in OWN_LIMITS.items() if text in str(e)), None)
            if why:
                limits[why] += 1
            else:
                failed += 1
                print(f"FAIL {name}: {e}")
    rest = "".join(f", {n} {why}" for why, n in sorted(limits.items()))
    print(f"ONNX Runtime {ort.__version__} loads {loaded} of {len(files)} written models{rest}; {failed} refused")
    return 1 if failed or not files else 0


sys.exit(main())
