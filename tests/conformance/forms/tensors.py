"""Where numbers stand: fields of every dtype, files beside the model, sparse tensors, Constant, defaults."""

import numpy as np
from files import (
    FORMS,
    Form,
    G,
    Optional,
    Raw,
    T,
    blob,
    floats,
    form,
    info,
    ints,
    model,
    n,
    num,
    sequence_type,
    tensor_bytes,
    tensor_type,
)
from wire import PLAIN, Sparse, narrow

X = floats(2, 3)


def cast_of(code, how, a):
    """An initializer of a dtype, made a float."""
    t = narrow(a, code)
    if how == "raw":
        data = tensor_bytes(t, "w")
    else:
        data = tensor_bytes(t, "w", raw=False)
    opset = 17 if code in PLAIN or code == 16 else 21 if code < 23 else 23
    if code in (25, 26):
        opset = 25
    m = model(
        [n("Cast", "w", "f", to=1), n("Add", "x f")],
        {"x": X},
        opset=opset,
        ir=10 if opset < 23 else 11,
        inits={"w": data},
    )
    return m, {"x": X}


for code in (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16, 17, 18, 19, 20, 21, 22, 23):
    values = np.array([[0, 1, 2], [3, 1, 0]], np.float32) * (0.5 if code in (1, 10, 11, 16, 17, 18, 19, 20, 23) else 1)
    for how in ("raw", "field"):
        made = cast_of(code, how, values)
        if code == 23:
            no_kernel = "ONNX Runtime has no kernel of this dtype"
            FORMS[f"initializer_{code}_{how}"] = Form(*made, "ours", expected=[X + values], because=no_kernel)
        else:
            FORMS[f"initializer_{code}_{how}"] = Form(*made)


@form()
def initializer_negative_int4():
    w = T(np.array([-8, -1, 7], np.int64), 22)
    return model(
        [n("Cast", "w", "f", to=1), n("Add", "x f")],
        {"x": X},
        opset=21,
        ir=10,
        inits={"w": tensor_bytes(w, "w", raw=False)},
    ), {"x": X}


@form()
def initializer_of_nothing():
    return model([n("Concat", "x w", "y", axis=0)], {"x": X}, inits={"w": floats(0, 3)}), {"x": X}


@form()
def initializer_scalar():
    return model([n("Mul", "x w")], {"x": X}, inits={"w": np.array(2, np.float32)}), {"x": X}


@form()
def initializer_of_one_without_dims():
    return model(
        [n("Mul", "x w")], {"x": X}, inits={"w": num(2, 1) + blob(8, "w") + blob(4, np.float32(3).tobytes())}
    ), {"x": X}


@form()
def initializer_strings():
    s = np.array(["a", "", "ü"], object)
    return model([n("Identity", "s")], {"x": X}, inits={"s": s}), {"x": X}


@form()
def initializer_unpacked_floats():
    """Each number a field of its own, as some writers put them."""
    data = num(1, 2) + num(2, 1) + b"".join(b"\x25" + np.float32(v).tobytes() for v in (1.5, 2.5)) + blob(8, "w")
    x = floats(2)
    return model([n("Add", "x w")], {"x": x}, inits={"w": data}), {"x": x}


@form(takes="neither", says="'w'")
def initializer_too_short():
    data = num(1, 3) + num(2, 1) + blob(8, "w") + blob(9, np.zeros(2, np.float32).tobytes())
    return model([n("Add", "x w")], {"x": X}, inits={"w": data}), {"x": X}


@form(takes="neither", says="'w'")
def initializer_of_an_unknown_dtype():
    data = num(1, 3) + num(2, 77) + blob(8, "w") + blob(9, bytes(12))
    return model([n("Add", "x w")], {"x": X}, inits={"w": data}), {"x": X}


@form(takes="neither", says="'w'")
def initializer_of_a_negative_size():
    data = num(1, -3) + num(2, 1) + blob(8, "w") + blob(9, bytes(12))
    return model([n("Add", "x w")], {"x": X}, inits={"w": data}), {"x": X}


@form(takes="theirs", says="defined twice", because="two initializers of a name: which one is meant is a guess")
def initializer_twice():
    data = blob(5, tensor_bytes(X, "w"))
    g = blob(1, n("Add", "x w")) + data + data + blob(11, info("x", 1, [2, 3])) + blob(12, info("y"))
    return num(1, 8) + blob(7, g + blob(2, "g")) + blob(8, num(2, 17)), {"x": X}


@form()
def default_before_ir_4():
    return model([n("Add", "x w")], {"x": X, "w": X}, ir=3, opset=8, inits={"w": floats(2, 3, seed=9)}), {"x": X}


@form()
def default_from_ir_4():
    return model([n("Add", "x w")], {"x": X, "w": X}, inits={"w": floats(2, 3, seed=9)}), {"x": X}


@form()
def default_first_among_the_inputs():
    return model([n("Add", "x w")], {"w": X, "x": X}, inits={"w": floats(2, 3, seed=9)}), {"x": X}


@form()
def initializer_alone_before_ir_4():
    return model([n("Add", "x w")], {"x": X}, ir=3, opset=8, inits={"w": X}), {"x": X}


def external(name, entries, dims=(2, 3)):
    m = b"".join(num(1, d) for d in dims) + num(2, 1) + blob(8, name)
    return m + b"".join(blob(13, blob(1, k) + blob(2, str(v))) for k, v in entries.items()) + num(14, 1)


def beside(entries, files, more=None):
    inits = {"w": external("w", entries), **(more or {})}
    return (
        model([n("Add", "x w", "a"), n("Add", "a v" if more else "a a")], {"x": X}, inits=inits),
        {"x": X},
        {"files": files},
    )


W = floats(2, 3, seed=3).tobytes()


@form()
def external_whole_file():
    return beside({"location": "w.bin"}, {"w.bin": W})


@form()
def external_offset_and_length():
    return beside({"location": "w.bin", "offset": 4096, "length": 24}, {"w.bin": bytes(4096) + W + b"rest"})


@form()
def external_offset_not_aligned():
    return beside({"location": "w.bin", "offset": 3, "length": 24}, {"w.bin": b"abc" + W})


@form()
def external_two_files():
    files = {"a.bin": W, "b.bin": bytes(8) + W}
    return beside({"location": "a.bin"}, files, {"v": external("v", {"location": "b.bin", "offset": 8})})


@form()
def external_one_file_twice():
    return beside({"location": "a.bin"}, {"a.bin": W}, {"v": external("v", {"location": "a.bin", "length": 24})})


@form()
def external_in_a_folder_below():
    return beside({"location": "data/w.bin"}, {"data/w.bin": W})


@form()
def external_with_a_dot():
    return beside({"location": "./w.bin"}, {"w.bin": W})


@form()
def external_checksum_is_passed_over():
    return beside({"location": "w.bin", "checksum": "0" * 40}, {"w.bin": W})


@form()
def external_of_a_constant():
    value = Raw(blob(5, external("", {"location": "w.bin"})) + num(20, 4))
    return model([n("Constant", "", "w", value=value), n("Add", "x w")], {"x": X}), {"x": X}, {"files": {"w.bin": W}}


@form()
def external_in_a_subgraph():
    then = G([n("Add", "x w", "t")], outs="t", inits={"w": external("w", {"location": "w.bin"})})
    other = G([n("Identity", "x", "e")], outs="e")
    c = np.array(True)
    m = model([n("If", "c", "y", then_branch=then, else_branch=other)], {"c": c, "x": X})
    return m, {"c": c, "x": X}, {"files": {"w.bin": W}}


@form(takes="neither", says="no such file")
def external_missing():
    return beside({"location": "w.bin"}, {})


@form(takes="neither", says="too short")
def external_too_short():
    return beside({"location": "w.bin"}, {"w.bin": W[:8]})


@form(takes="neither", says="too short")
def external_offset_behind_the_end():
    return beside({"location": "w.bin", "offset": 1 << 40}, {"w.bin": W})


@form(takes="neither", says="'..'")
def external_above_the_folder():
    return beside({"location": "../model.bin"}, {})


@form(takes="neither", says="relative path")
def external_absolute():
    return beside({"location": "/etc/passwd"}, {})


@form(takes="neither", says="'location'")
def external_without_a_location():
    return beside({"offset": 0}, {})


@form(takes="neither", says="bytes")
def external_of_another_length():
    return beside({"location": "w.bin", "length": 20}, {"w.bin": W})


@form(takes="neither", says="not a number")
def external_offset_is_no_number():
    return beside({"location": "w.bin", "offset": "0x10"}, {"w.bin": W})


def sparse_model(s):
    return model([n("Add", "x w")], {"x": X}, sparse=[s.message("w")]), {"x": X}


@form()
def sparse_initializer_flat():
    return sparse_model(Sparse(T(floats(2)), T(ints(1, 5)), (2, 3)))


@form()
def sparse_initializer_tuples():
    return sparse_model(Sparse(T(floats(2)), T(np.array([[0, 1], [1, 2]], np.int64)), (2, 3)))


@form()
def sparse_initializer_of_nothing():
    return sparse_model(Sparse(T(floats(0)), T(np.zeros(0, np.int64)), (2, 3)))


@form(takes="neither", says="outside")
def sparse_initializer_outside():
    return sparse_model(Sparse(T(floats(2)), T(ints(1, 6)), (2, 3)))


for key, value in {
    "value_float": 2.5,
    "value_floats": [1.0, 2.0, 3.0],
    "value": floats(2, 3, seed=2),
    "sparse_value": Sparse(T(floats(2)), T(ints(1, 5)), (2, 3)),
}.items():
    FORMS[f"constant_{key}"] = Form(
        model([n("Constant", "", "w", **{key: value}), n("Add", "x w")], {"x": X}), {"x": X}
    )
FORMS["constant_value_int"] = Form(model([n("Constant", "", "w", value_int=1), n("Gather", "x w")], {"x": X}), {"x": X})
FORMS["constant_value_ints"] = Form(
    model([n("Constant", "", "w", value_ints=[3, 2]), n("Reshape", "x w")], {"x": X}), {"x": X}
)
FORMS["constant_value_string"] = Form(model([n("Constant", "", "y", value_string="a b")], {"x": X}), {"x": X})
FORMS["constant_value_strings"] = Form(model([n("Constant", "", "y", value_strings=["a", "b"])], {"x": X}), {"x": X})
FORMS["constant_of_nothing"] = Form(
    model([n("Constant", "", "w", value_ints=Raw(num(20, 7))), n("Reshape", "x w")], {"x": np.float32([2.5])}),
    {"x": np.float32([2.5])},
)
FORMS["constant_is_the_output"] = Form(model([n("Constant", "", "y", value=X)], {"x": X}), {"x": X})
FORMS["constant_of_shape_int4"] = Form(
    model(
        [n("Constant", "", "s", value_ints=[2]), n("ConstantOfShape", "s", "y", value=np.array([7], np.int8))], {"x": X}
    ),
    {"x": X},
)
FORMS["strings_through"] = Form(
    model([n("Gather", "s i", "y")], [info("s", 8, ["n"]), info("i", 7, [2])]),
    {"s": np.array(["x", "ü", ""], object), "i": ints(2, 0)},
)
FORMS["bool_bytes"] = Form(
    model(
        [n("Where", "w x z", "y")],
        {"x": X, "z": -X},
        inits={"w": num(1, 3) + num(2, 9) + blob(8, "w") + blob(9, bytes([0, 1, 1]))},
    ),
    {"x": X, "z": -X},
)


@form()
def nan_and_infinity():
    w = np.array([np.nan, np.inf, -np.inf], np.float32)
    return model([n("Add", "x w")], {"x": X}, inits={"w": w}), {"x": X}


@form()
def optional_input():
    """What the element may be asked for."""
    kind = blob(9, blob(1, tensor_type(1, [2, 3])))
    return model([n("OptionalGetElement", "x", "y")], [info("x", type_bytes=kind)], opset=18), {"x": Optional(X)}


@form()
def optional_of_a_sequence():
    kind = blob(9, blob(1, sequence_type(tensor_type(1))))
    nodes = [n("OptionalHasElement", "x", "y")]
    return model(nodes, [info("x", type_bytes=kind)], opset=18), {"x": Optional([X, X])}
