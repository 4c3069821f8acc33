"""If, Loop and Scan: names around them, outputs left out, shapes that change."""

import numpy as np
from files import FORMS, Form, G, floats, form, info, ints, model, n

X = floats(2, 3)
YES = np.array(True)
BODY = [info("i", 7, []), info("c", 9, [])]


def branching(then, other, ins=None, nodes=(), outs="y", **more):
    ins = {"c": YES, "x": X} if ins is None else ins
    return model([*nodes, n("If", "c", outs, then_branch=then, else_branch=other)], ins, outs, **more), ins


@form()
def if_plain():
    return branching(G([n("Neg", "x", "t")], outs="t"), G([n("Abs", "x", "e")], outs="e"))


@form()
def if_condition_of_one_element():
    c = np.array([True])
    return branching(G([n("Neg", "x", "t")], outs="t"), G([n("Abs", "x", "e")], outs="e"), {"c": c, "x": X})


@form()
def if_branches_with_equal_names():
    return branching(G([n("Neg", "x", "t")], outs="t"), G([n("Abs", "x", "t")], outs="t"))


@form()
def if_branches_of_other_shapes():
    return branching(G([n("Neg", "x", "t")], outs="t"), G([n("ReduceSum", "x", "e", keepdims=0)], outs="e"))


@form()
def if_branch_of_a_constant():
    return branching(G([n("Constant", "", "t", value=X)], outs="t"), G([n("Abs", "x", "e")], outs="e"))


@form()
def if_branch_of_an_initializer():
    then = G([n("Identity", "w", "t")], outs="t", inits={"w": X})
    return branching(then, G([n("Abs", "x", "e")], outs="e"))


@form()
def if_output_is_an_initializer():
    then = G([], outs=[info("w", 1, [2, 3])], inits={"w": X})
    m, ins = branching(then, G([n("Abs", "x", "e")], outs="e"))
    return m, ins


@form()
def if_nested():
    inner = G(
        [
            n(
                "If",
                "c",
                "u",
                then_branch=G([n("Neg", "x", "v")], outs="v"),
                else_branch=G([n("Exp", "x", "v")], outs="v"),
            )
        ],
        outs="u",
    )
    return branching(inner, G([n("Abs", "x", "e")], outs="e"))


@form()
def if_name_of_the_graph_again():
    """A value of a branch has the name of one behind the If."""
    then = G([n("Neg", "x", "later"), n("Exp", "later", "t")], outs="t")
    ins = {"c": YES, "x": X}
    nodes = [
        n("If", "c", "z", then_branch=then, else_branch=G([n("Abs", "x", "e")], outs="e")),
        n("Abs", "z", "later"),
        n("Neg", "later", "y"),
    ]
    return model(nodes, ins), ins


@form(takes="ours", expected=[np.exp(-X)], because="ONNX forbids a name that is taken outside; what it means is plain")
def if_name_of_an_outer_value_again():
    then = G([n("Neg", "x", "w"), n("Exp", "w", "t")], outs="t")
    return branching(then, G([n("Abs", "w", "e")], outs="e"), nodes=[n("Abs", "x", "w")])


@form(
    takes="differ",
    expected=[X + floats(3, seed=8)],
    because="the inner of two names is meant; ONNX forbids them, ONNX Runtime takes the outer one",
)
def if_initializer_shadows():
    then = G([n("Add", "x w", "t")], outs="t", inits={"w": floats(3, seed=8)})
    return branching(then, G([n("Add", "x w", "e")], outs="e"), inits={"w": floats(3, seed=9)})


@form()
def if_two_outputs():
    then, other = G([n("Neg", "x", "a"), n("Exp", "x", "b")], outs="a b"), G(
        [n("Abs", "x", "a"), n("Neg", "x", "b")], outs="b a"
    )
    return branching(then, other, outs="y z")


@form(takes="ours", expected=[np.exp(X)], because="ONNX Runtime wants all outputs of an If named")
def if_output_left_out():
    then, other = G([n("Neg", "x", "a"), n("Exp", "x", "b")], outs="a b"), G(
        [n("Abs", "x", "a"), n("Neg", "x", "b")], outs="a b"
    )
    ins = {"c": YES, "x": X}
    return model([n("If", "c", "_ y", then_branch=then, else_branch=other)], ins), ins


@form()
def if_without_inputs():
    """What the If alone decides."""
    then, other = G([n("Constant", "", "t", value_float=1.0)], outs="t"), G(
        [n("Constant", "", "e", value_float=2.0)], outs="e"
    )
    return branching(then, other, {"c": YES})


def looping(
    body_nodes, outs, start, ins=None, trips=3, inits=None, outer="y", condition="_", nodes=(), last="acc", first=None
):
    ins = {"x": X} if ins is None else ins
    body = G(body_nodes, [*BODY, first or info(last, 1)], outs)
    loop = n("Loop", f"trips {condition} {start}", outer, body=body)
    return (
        model(
            [*nodes, loop],
            ins,
            outer.replace("_", "").strip(),
            inits={"trips": np.array(trips, np.int64), **(inits or {})},
        ),
        ins,
    )


@form()
def loop_plain():
    return looping([n("Add", "acc x", "acc2"), n("Identity", "c", "c2")], "c2 acc2", "x")


@form()
def loop_hands_on_its_condition():
    return looping([n("Add", "acc x", "acc2")], "c acc2", "x")


@form()
def loop_of_no_trips():
    return looping([n("Add", "acc x", "acc2"), n("Identity", "c", "c2")], "c2 acc2", "x", trips=0)


@form()
def loop_with_scan_output():
    nodes = [n("Add", "acc x", "acc2"), n("Identity", "c", "c2"), n("ReduceSum", "acc2", "s", keepdims=0)]
    return looping(nodes, "c2 acc2 s", "x", outer="y z")


@form()
def loop_shape_grows():
    return looping([n("Concat", "acc x", "acc2", axis=0), n("Identity", "c", "c2")], "c2 acc2", "x")


@form()
def loop_stops_by_condition():
    nodes = [n("Add", "acc x", "acc2"), n("ReduceMax", "acc2", "m", keepdims=0), n("Less", "m top", "c2")]
    x = np.abs(X) + 1
    return looping(
        nodes, "c2 acc2", "x", ins={"x": x}, trips=100, inits={"top": np.float32(20), "go": YES}, condition="go"
    )


@form()
def loop_without_trip_count():
    body = G(
        [n("Add", "acc x", "acc2"), n("ReduceMax", "acc2", "m", keepdims=0), n("Less", "m top", "c2")],
        [*BODY, info("acc", 1)],
        "c2 acc2",
    )
    x = np.abs(X) + 1
    return model([n("Loop", "_ go x", "y", body=body)], {"x": x}, inits={"top": np.float32(20), "go": YES}), {"x": x}


@form()
def loop_carries_nothing():
    body = G([n("Cast", "i", "f", to=1), n("Mul", "f x", "s")], BODY, "c s")
    return model(
        [n("Loop", "trips go", "y", body=body)], {"x": X}, inits={"trips": np.array(3, np.int64), "go": YES}
    ), {"x": X}


@form()
def loop_swaps():
    body = G([n("Identity", "a", "a2"), n("Neg", "b", "b2")], [*BODY, info("a", 1), info("b", 1)], "c b2 a2")
    return model(
        [n("Loop", "trips _ x z", "y w", body=body)],
        {"x": X, "z": X + 1},
        "y w",
        inits={"trips": np.array(3, np.int64)},
    ), {"x": X, "z": X + 1}


@form(takes="ours", expected=[4 * X], because="what comes in has its type already; ONNX Runtime wants it declared")
def loop_body_infos_without_types():
    body = G([n("Add", "acc x", "acc2")], [info("i"), info("c"), info("acc")], "c acc2")
    return model([n("Loop", "trips _ x", "y", body=body)], {"x": X}, inits={"trips": np.array(3, np.int64)}), {"x": X}


@form()
def loop_input_shadows_the_graph():
    """The body's x is what it carries."""
    body = G([n("Add", "x w", "r")], [*BODY, info("x", 1)], "c r")
    nodes = [n("Neg", "x", "w"), n("Loop", "trips _ w", "y", body=body)]
    return model(nodes, {"x": X}, inits={"trips": np.array(2, np.int64)}), {"x": X}


@form()
def loop_in_a_loop():
    inner = G([n("Add", "v x", "v2")], [info("j", 7, []), info("d", 9, []), info("v", 1)], "d v2")
    body = G([n("Loop", "i _ acc", "acc2", body=inner)], [*BODY, info("acc", 1)], "c acc2")
    return model([n("Loop", "trips _ x", "y", body=body)], {"x": X}, inits={"trips": np.array(3, np.int64)}), {"x": X}


@form()
def loop_trips_by_input():
    t = np.array(2, np.int64)
    body = G([n("Add", "acc x", "acc2")], [*BODY, info("acc", 1)], "c acc2")
    return model([n("Loop", "t _ x", "y", body=body)], {"t": t, "x": X}), {"t": t, "x": X}


@form()
def loop_trips_of_one_element():
    t = ints(2)
    body = G([n("Add", "acc x", "acc2")], [*BODY, info("acc", 1)], "c acc2")
    return model([n("Loop", "t _ x", "y", body=body)], {"t": t, "x": X}), {"t": t, "x": X}


@form()
def loop_carries_a_sequence():
    from files import sequence_type, tensor_type

    body = G([n("SequenceInsert", "s x", "s2")], [*BODY, info("s", type_bytes=sequence_type(tensor_type(1)))], "c s2")
    nodes = [
        n("SequenceEmpty", "", "e"),
        n("Loop", "trips _ e", "q", body=body),
        n("ConcatFromSequence", "q", "y", axis=0),
    ]
    return model(nodes, {"x": X}, inits={"trips": np.array(2, np.int64)}), {"x": X}


def scanning(opset=17, **attrs):
    body = G([n("Add", "s e", "s2"), n("Mul", "s2 s2", "o")], [info("s", 1, [3]), info("e", 1, [3])], "s2 o")
    ins = {"s0": floats(3), "xs": floats(4, 3)}
    return model([n("Scan", "s0 xs", "y z", body=body, num_scan_inputs=1, **attrs)], ins, "y z", opset), ins


FORMS["scan_plain"] = Form(*scanning())
FORMS["scan_backwards"] = Form(*scanning(scan_input_directions=[1], scan_output_directions=[1]))
FORMS["scan_output_axis"] = Form(*scanning(scan_output_axes=[1]))


@form()
def scan_8():
    body = G([n("Add", "s e", "s2"), n("Mul", "s2 s2", "o")], [info("s", 1, [3]), info("e", 1, [3])], "s2 o")
    ins = {"s0": floats(2, 3), "xs": floats(2, 4, 3)}
    return model([n("Scan", "_ s0 xs", "y z", body=body, num_scan_inputs=1)], ins, "y z", opset=8, ir=3), ins


@form()
def scan_reads_around():
    body = G(
        [n("Add", "s w", "s2"), n("Mul", "e k", "o")],
        [info("s", 1, [3]), info("e", 1, [3])],
        "s2 o",
        inits={"k": np.float32(2)},
    )
    ins = {"s0": floats(3), "xs": floats(4, 3)}
    nodes = [n("Neg", "s0", "w"), n("Scan", "s0 xs", "y z", body=body, num_scan_inputs=1)]
    return model(nodes, ins, "y z"), ins
