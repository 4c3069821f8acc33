"""Names and order: nodes in any order, symbols, outputs, value infos, versions."""

import numpy as np
from files import Form, FORMS, G, blob, floats, form, graph, info, ints, model, n, num, sequence_type, tensor_type

X, Y = floats(2, 3), floats(2, 3, seed=5)


@form()
def order_reversed():
    return model([n("Relu", "b", "y"), n("Neg", "a", "b"), n("Abs", "x", "a")], {"x": X}), {"x": X}


@form()
def order_mixed():
    nodes = [n("Add", "b a", "y"), n("Abs", "x", "a"), n("Mul", "a c", "b"), n("Constant", "", "c", value_float=2.5)]
    return model(nodes, {"x": X}), {"x": X}


@form()
def order_reads_in_a_branch():
    """What a branch reads from around it is made after the If."""
    then = G([n("Add", "late x", "t")], outs="t")
    other = G([n("Identity", "x", "e")], outs="e")
    nodes = [n("If", "c", "y", then_branch=then, else_branch=other), n("Abs", "x", "late")]
    c = np.array(True)
    return model(nodes, {"c": c, "x": X}), {"c": c, "x": X}


@form(takes="ours", expected=[np.maximum(-X, 0)], because="ONNX Runtime sorts the nodes of the whole graph only")
def order_inside_a_branch():
    then = G([n("Relu", "u", "t"), n("Neg", "x", "u")], outs="t")
    other = G([n("Identity", "x", "e")], outs="e")
    c = np.array(True)
    return model([n("If", "c", "y", then_branch=then, else_branch=other)], {"c": c, "x": X}), {"c": c, "x": X}


@form(takes="ours", expected=[0.5 * X], because="ONNX Runtime sorts the nodes of the whole graph only")
def order_inside_a_loop():
    body = G(
        [
            n("Add", "u acc", "acc2"),
            n("Mul", "x k", "u"),
            n("Identity", "c", "c2"),
            n("Constant", "", "k", value_float=0.5),
        ],
        [info("i", 7, []), info("c", 9, []), info("acc", 1, [2, 3])],
        "c2 acc2",
    )
    nodes = [n("Loop", "trips _ start", "y", body=body), n("Neg", "x", "start")]
    return model(nodes, {"x": X}, inits={"trips": np.array(3, np.int64)}), {"x": X}


@form()
def order_branch_hands_on_an_outer_value():
    then, other = G([], outs="late"), G([n("Abs", "x", "e")], outs="e")
    nodes = [n("If", "c", "y", then_branch=then, else_branch=other), n("Neg", "x", "late")]
    c = np.array(True)
    return (
        model(nodes, {"c": c, "x": X}),
        {"c": c, "x": X},
        {"takes": "ours", "expected": [-X], "because": "ONNX Runtime wants an Identity in the branch"},
    )


@form(takes="neither", says="cycle")
def cycle_of_two():
    return model(
        [n("Add", "x b", "a", name="first"), n("Neg", "a", "b", name="second"), n("Abs", "b", "y")], {"x": X}
    ), {"x": X}


@form(takes="neither", says="cycle")
def cycle_of_itself():
    return model([n("Add", "x y", "y", name="own")], {"x": X}), {"x": X}


@form(takes="neither", says="'nobody'")
def input_of_nobody():
    return model([n("Add", "x nobody", "y", name="add")], {"x": X}), {"x": X}


@form(takes="neither", says="defined twice")
def output_made_twice():
    return model([n("Abs", "x", "y"), n("Neg", "x", "y")], {"x": X}), {"x": X}


@form(takes="neither", says="defined twice")
def output_named_as_an_input():
    return model([n("Abs", "x", "x")], {"x": X}, "x"), {"x": X}


@form(takes="ours", expected=[-np.abs(X)], because="the names of nodes mean nothing; ONNX Runtime wants each once")
def node_names_alike():
    return model([n("Abs", "x", "a", name="n"), n("Neg", "a", "y", name="n")], {"x": X}), {"x": X}


@form()
def node_names_missing():
    return model([n("Abs", "x", "a"), n("Neg", "a", "y")], {"x": X}), {"x": X}


@form()
def node_that_nobody_needs():
    return model([n("Abs", "x", "y"), n("Neg", "x", "spare")], {"x": X}), {"x": X}


@form()
def input_that_nobody_reads():
    return model([n("Abs", "x", "y")], {"x": X, "spare": Y}), {"x": X, "spare": Y}


@form()
def initializer_that_nobody_reads():
    return model([n("Abs", "x", "y")], {"x": X}, inits={"w": Y}), {"x": X}


@form()
def output_that_is_an_input():
    return model([n("Abs", "x", "y")], {"x": X}, "y x"), {"x": X}


@form()
def output_that_is_an_initializer():
    return model([n("Abs", "x", "y")], {"x": X}, [info("y"), info("w", 1, [2, 3])], inits={"w": Y}), {"x": X}


@form()
def outputs_in_another_order():
    return model([n("Abs", "x", "a"), n("Neg", "x", "b")], {"x": X}, "b a"), {"x": X}


@form()
def output_in_the_middle():
    return model([n("Abs", "x", "a"), n("Neg", "a", "y")], {"x": X}, "a y"), {"x": X}


@form(takes="theirs", says="listed twice", because="outputs are asked for by their names")
def output_listed_twice():
    return model([n("Abs", "x", "y")], {"x": X}, "y y"), {"x": X}


@form(takes="neither", says="'z'")
def output_of_nobody():
    return model([n("Abs", "x", "y")], {"x": X}, "z"), {"x": X}


@form(takes="neither", says="no outputs")
def outputs_none():
    return model([n("Abs", "x", "y")], {"x": X}, ""), {"x": X}


@form()
def names_of_odd_letters():
    x = "a/b:0 ü%s{}".replace(" ", "_")
    return model([n("Abs", x, "ÿ/out:1", name="n{0}%n")], {x: X}, "ÿ/out:1"), {x: X}


@form()
def names_like_those_that_are_made_up():
    return model(
        [n("Abs", "x", "wick_0"), n("Neg", "wick_0", "wick_1"), n("Relu", "wick_1", "y")], {"x": X}, "y wick_0"
    ), {"x": X}


@form()
def value_info_contradicts():
    infos = [info("a", 1, [7, 7])]
    return model([n("Abs", "x", "a"), n("Neg", "a", "y")], {"x": X}, infos=infos), {"x": X}


@form()
def value_info_of_nobody():
    return model([n("Abs", "x", "y")], {"x": X}, infos=[info("gone", 1, [2])]), {"x": X}


@form()
def output_info_of_another_size():
    return model([n("Abs", "x", "y")], [info("x", 1, ["n", 3])], [info("y", 1, [7, 3])]), {"x": X}


@form()
def output_info_of_another_symbol():
    return model([n("Abs", "x", "y")], [info("x", 1, ["n", 3])], [info("y", 1, ["m", 3])]), {"x": X}


@form(takes="neither", says="declared")
def output_info_of_another_dtype():
    return model([n("Abs", "x", "y")], {"x": X}, [info("y", 7, [2, 3])]), {"x": X}


@form()
def symbol_shared_and_kept():
    return model([n("Add", "a b", "y")], [info("a", 1, ["n", 3]), info("b", 1, ["n", 3])]), {"a": X, "b": Y}


def two_sizes(nodes, ins, outs="y"):
    infos = [info(k, 1, ["n"] * v.ndim) for k, v in ins.items()]
    return model(nodes, infos, outs), ins


@form()
def symbol_of_two_sizes_in_one_input():
    return two_sizes([n("Abs", "x", "y")], {"x": X})


@form()
def symbol_of_two_sizes_in_two_inputs():
    return two_sizes([n("Abs", "a", "y"), n("Neg", "b", "z")], {"a": floats(3), "b": floats(4)}, "y z")


@form()
def symbol_of_two_sizes_matmul():
    return two_sizes([n("MatMul", "a b", "y")], {"a": X, "b": floats(3, 4)})


@form()
def symbol_of_two_sizes_concat():
    return two_sizes([n("Concat", "a b", "y", axis=0)], {"a": floats(3), "b": floats(4)})


@form()
def symbol_of_two_sizes_broadcast():
    return two_sizes([n("Add", "a b", "y")], {"a": floats(3), "b": floats(1)})


@form()
def symbol_of_two_sizes_and_its_shape():
    return two_sizes([n("Shape", "a", "s"), n("Expand", "b s", "y")], {"a": floats(3), "b": floats(1)})


@form()
def symbol_of_two_sizes_reshape():
    nodes = [n("Shape", "b", "s"), n("Reshape", "a s", "y")]
    return model(nodes, [info("a", 1, ["n", "n"]), info("b", 1, ["n", "m"])]), {"a": X, "b": floats(3, 2)}


@form()
def symbol_unused():
    return model([n("Abs", "x", "y")], [info("x", 1, ["n", 3]), info("spare", 1, ["unused"])]), {
        "x": X,
        "spare": floats(4),
    }


@form()
def symbol_without_a_name():
    return model([n("Abs", "x", "y")], [info("x", 1, ["", ""])]), {"x": X}


@form()
def symbol_with_an_odd_name():
    return model([n("Abs", "x", "y")], [info("x", 1, ["batch size * 2 + ü", "?"])]), {"x": X}


@form()
def dim_of_minus_one():
    return model([n("Abs", "x", "y")], [info("x", 1, [-1, 3])]), {"x": X}


@form()
def dim_of_zero():
    x = floats(0, 3)
    return model([n("Abs", "x", "y")], [info("x", 1, [0, 3])]), {"x": x}


@form()
def input_without_a_shape():
    return model([n("Abs", "x", "y")], [info("x", 1)]), {"x": X}


@form(takes="neither", says="'x'")
def input_without_a_type():
    return model([n("Abs", "x", "y")], [info("x")]), {"x": X}


@form()
def input_without_a_shape_in_matmul():
    return model([n("MatMul", "a b", "y")], [info("a", 1), info("b", 1)]), {"a": X, "b": floats(3, 4)}


@form()
def scalar_input():
    return model([n("Abs", "x", "y")], [info("x", 1, [])]), {"x": np.array(-2.5, np.float32)}


@form()
def doc_strings():
    extra = blob(6, "of the model") + blob(4, "a.domain") + num(5, 3) + blob(14, blob(1, "k") + blob(2, "v"))
    g = blob(1, n("Abs", "x", "y", doc="of a node")) + blob(2, "g") + blob(10, "of the graph")
    g += blob(11, info("x", 1, [2, 3]) + blob(3, "of an input")) + blob(12, info("y"))
    return num(1, 8) + blob(2, "p") + blob(3, "1.0") + extra + blob(7, g) + blob(8, num(2, 17)), {"x": X}


@form()
def fields_in_another_order():
    g = blob(12, info("y")) + blob(11, info("x", 1, [2, 3])) + blob(2, "g") + blob(1, n("Abs", "x", "y"))
    return blob(8, num(2, 17)) + blob(7, g) + num(1, 8), {"x": X}


@form()
def fields_of_a_later_format():
    g = (
        blob(1, n("Abs", "x", "y") + blob(90, "new"))
        + blob(2, "g")
        + blob(11, info("x", 1, [2, 3]))
        + blob(12, info("y"))
    )
    return num(1, 8) + blob(7, g + num(91, 5)) + blob(8, num(2, 17)) + blob(99, "later"), {"x": X}


@form()
def graph_without_a_name():
    return num(1, 8) + blob(7, graph([n("Abs", "x", "y")], {"x": X}, "y", name="")) + blob(8, num(2, 17)), {"x": X}


@form()
def domain_called_ai_onnx():
    return model([n("Abs", "x", "y", domain="ai.onnx")], {"x": X}, opset=0, imports=[("ai.onnx", 17)]), {"x": X}


@form()
def domain_imported_for_nothing():
    return model([n("Abs", "x", "y")], {"x": X}, imports=[("com.example", 3), ("ai.onnx.ml", 3)]), {"x": X}


@form()
def opset_imported_twice_alike():
    return model([n("Abs", "x", "y")], {"x": X}, extra=blob(8, num(2, 17))), {"x": X}


LATER = "its operators are all known; ONNX Runtime goes by the number"
for ir in (3, 4, 7, 10, 11, 12, 13):
    FORMS[f"ir_{ir}"] = Form(model([n("Abs", "x", "y")], {"x": X}, ir=ir), {"x": X})
for ir in (14, 15):
    FORMS[f"ir_{ir}"] = Form(model([n("Abs", "x", "y")], {"x": X}, ir=ir), {"x": X}, "ours", expected=[np.abs(X)],
                             because=LATER)
FORMS["ir_0"] = Form(model([n("Abs", "x", "y")], {"x": X}, ir=0), {"x": X})
for opset in (7, 13, 21, 24, 26):
    FORMS[f"opset_{opset}"] = Form(model([n("Add", "x x", "y")], {"x": X}, opset=opset, ir=10), {"x": X})
FORMS["opset_99"] = Form(model([n("Add", "x x", "y")], {"x": X}, opset=99), {"x": X}, "ours", expected=[X + X],
                         because=LATER)
FORMS["opset_99_new"] = Form(model([n("Adds", "x x", "y")], {"x": X}, opset=99), {"x": X}, "neither", "opset 99")
FORMS["opset_none"] = Form(model([n("Add", "x x", "y")], {"x": X}, opset=0, ir=8), {"x": X}, "neither", "opset")


@form()
def sequence_as_an_input():
    seq = sequence_type(tensor_type(1))
    return model([n("ConcatFromSequence", "s", "y", axis=0)], [info("s", type_bytes=seq)]), {"s": [X, Y]}


@form()
def sequence_as_an_output():
    outs = [info("y", type_bytes=sequence_type(tensor_type(1)))]
    return model([n("SequenceConstruct", "x x", "y")], {"x": X}, outs), {"x": X}


@form()
def sequence_through():
    seq = sequence_type(tensor_type(1, ["a", 3]))
    return model(
        [n("SequenceInsert", "s x", "y")],
        [info("s", type_bytes=seq), info("x", 1, [2, 3])],
        [info("y", type_bytes=sequence_type(tensor_type(1)))],
    ), {"s": [X], "x": Y}


@form()
def sequence_split_and_joined():
    nodes = [n("SplitToSequence", "x two", "s", axis=1), n("ConcatFromSequence", "s", "y", axis=0, new_axis=0)]
    x = floats(2, 4)
    return model(nodes, {"x": x}, inits={"two": np.array(2, np.int64)}), {"x": x}


@form()
def sequence_empty_grows():
    nodes = [n("SequenceEmpty", "", "e"), n("SequenceInsert", "e x", "s"), n("SequenceAt", "s zero", "y")]
    return model(nodes, {"x": X}, inits={"zero": np.array(0, np.int64)}), {"x": X}


@form()
def map_as_an_input():
    kind = blob(5, num(1, 7) + blob(2, tensor_type(1)))
    return (
        model([n("Abs", "x", "y")], [info("x", 1, [2, 3]), info("m", type_bytes=kind)]),
        {"x": X, "m": {}},
        {"takes": "neither", "says": "map"},
    )


@form()
def ints_as_an_index():
    return model([n("Gather", "x i", "y", axis=1)], {"x": X, "i": ints(0, -1)}), {"x": X, "i": ints(0, -1)}
