"""Files that are none."""

from files import FORMS, Form, blob, floats, form, info, model, n, num

X = floats(2, 3)
GOOD = model([n("Abs", "x", "y")], {"x": X}, inits={"w": floats(64, 64)})

FORMS["file_empty"] = Form(b"", {"x": X}, "neither", "empty")
FORMS["file_cut"] = Form(GOOD[: len(GOOD) // 2], {"x": X}, "neither", "damaged")
FORMS["file_cut_by_a_byte"] = Form(GOOD[:-1], {"x": X}, "neither", "damaged")
FORMS["file_of_text"] = Form(b"this is no model\n" * 50, {"x": X}, "neither", "not an ONNX model")
FORMS["file_of_zeros"] = Form(bytes(1000), {"x": X}, "neither", "not an ONNX model")
FORMS["file_png"] = Form(b"\x89PNG\r\n\x1a\n" + bytes(100), {"x": X}, "neither", "not an ONNX model")
FORMS["file_zip"] = Form(b"PK\x03\x04" + bytes(100), {"x": X}, "neither", "not an ONNX model")
FORMS["file_git_lfs"] = Form(
    b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", {"x": X}, "neither", "LFS"
)
FORMS["file_html"] = Form(b"<!DOCTYPE html><html></html>", {"x": X}, "neither", "not an ONNX model")
FORMS["file_without_a_graph"] = Form(num(1, 8) + blob(8, num(2, 17)), {"x": X}, "neither", "no graph")


@form(takes="neither", says="no name")
def input_without_a_name():
    return model([n("Abs", "x", "y")], [info("x", 1, [2, 3]), info("", 1, [2])]), {"x": X}


@form(takes="neither", says="names no outputs")
def node_without_outputs():
    return model([n("Abs", "x", ""), n("Neg", "x", "y")], {"x": X}), {"x": X}


@form(takes="neither", says="operator")
def node_without_an_operator():
    return model([n("", "x", "y")], {"x": X}), {"x": X}


@form(takes="neither", says="inner dimensions differ")
def wrong_shapes():
    return model([n("MatMul", "x x", "y", name="mm")], {"x": X}), {"x": X}
