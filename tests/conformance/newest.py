#!/usr/bin/env python3
"""newest.py DIR: the node tests of the onnx package that this Python has, as folders that `wick conformance` reads.

A folder has model.onnx and test_data_set_0/{input,output}_K.pb, as onnx's own backend-test-tools writes them. The
package's runner allows an output in bfloat16 to be off by 2^-6 of what is expected, two of its last digits; such an
output gets a bound_K.pb that says so. All else goes by the suite's rule (exporter/onnx/test_case.h).
"""

import os
import shutil
import sys
import warnings

warnings.simplefilter("ignore")  # the cases divide by zero, and mean it

import numpy as np  # noqa: E402
from onnx import TensorProto, numpy_helper  # noqa: E402
from onnx.backend.test.loader import load_model_tests  # noqa: E402


def proto(value, info):
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    if kind == "map_type":
        return numpy_helper.from_dict(value, info.name)
    tensor = value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value), info.name)
    tensor.name = info.name
    return tensor


def write(path, message):
    with open(path, "wb") as f:
        f.write(message.SerializeToString())


def write_case(case, folder):
    os.makedirs(folder)
    write(os.path.join(folder, "model.onnx"), case.model)
    for i, (inputs, outputs) in enumerate(case.data_sets):
        data = os.path.join(folder, f"test_data_set_{i}")
        os.makedirs(data)
        for k, (value, info) in enumerate(zip(inputs, case.model.graph.input)):
            write(os.path.join(data, f"input_{k}.pb"), proto(value, info))
        for k, (value, info) in enumerate(zip(outputs, case.model.graph.output)):
            tensor = proto(value, info)
            write(os.path.join(data, f"output_{k}.pb"), tensor)
            if isinstance(tensor, TensorProto) and tensor.data_type == TensorProto.BFLOAT16:
                expected = np.abs(np.asarray(numpy_helper.to_array(tensor)).astype(np.float64))
                bound = 1e-7 + 2.0**-6 * np.where(np.isfinite(expected), expected, 0)
                write(os.path.join(data, f"bound_{k}.pb"), numpy_helper.from_array(bound, info.name))


def main():
    folder = sys.argv[1]
    shutil.rmtree(folder, ignore_errors=True)
    cases = load_model_tests(kind="node")
    for case in cases:
        write_case(case, os.path.join(folder, case.name))
    print(f"{len(cases)} node tests")


if __name__ == "__main__":
    main()
