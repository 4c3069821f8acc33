"""Functions that a model brings along."""

import numpy as np
from files import G, Ref, floats, form, function, info, model, n

X = floats(2, 3)
FLOAT, INT, INTS = 1, 2, 7


def calling(nodes, functions, ins=None, outs="y", opset=17, **more):
    ins = {"x": X} if ins is None else ins
    return model(nodes, ins, outs, opset, functions=functions, imports=[("my", 1)], **more), ins


@form()
def function_plain():
    f = function("F", "a b", "c", [n("Add", "a b", "s"), n("Relu", "s", "c")])
    return calling([n("F", "x x", "y", domain="my")], [f])


@form()
def function_called_twice():
    f = function("F", "a", "c", [n("Neg", "a", "t"), n("Exp", "t", "c")])
    return calling([n("F", "x", "t", domain="my"), n("F", "t", "y", domain="my")], [f])


@form()
def function_of_functions():
    g = function("G", "a", "b", [n("Abs", "a", "b")])
    f = function("F", "a", "c", [n("G", "a", "t", domain="my"), n("Neg", "t", "c")], imports=[("my", 1)])
    return calling([n("F", "x", "y", domain="my")], [f, g])


@form()
def function_with_an_attribute():
    f = function("F", "a", "c", [n("LeakyRelu", "a", "c", alpha=Ref("slope", FLOAT))], attributes=["slope"])
    return calling([n("F", "x", "y", domain="my", slope=0.3)], [f])


@form()
def function_attribute_left_out():
    f = function("F", "a", "c", [n("LeakyRelu", "a", "c", alpha=Ref("slope", FLOAT))], attributes=["slope"])
    return calling([n("F", "x", "y", domain="my")], [f])


@form()
def function_attribute_default():
    f = function("F", "a", "c", [n("LeakyRelu", "a", "c", alpha=Ref("slope", FLOAT))], defaults={"slope": 0.25})
    return calling([n("F", "x", "t", domain="my"), n("F", "t", "y", domain="my", slope=0.5)], [f])


@form()
def function_attribute_through_two():
    g = function("G", "a", "b", [n("Softmax", "a", "b", axis=Ref("way", INT))], attributes=["way"])
    f = function(
        "F", "a", "c", [n("G", "a", "c", domain="my", way=Ref("axis", INT))], attributes=["axis"], imports=[("my", 1)]
    )
    return calling([n("F", "x", "y", domain="my", axis=0)], [f, g])


@form()
def function_attribute_in_a_constant():
    f = function(
        "F",
        "a",
        "c",
        [n("Constant", "", "k", value_ints=Ref("shape", INTS)), n("Reshape", "a k", "c")],
        attributes=["shape"],
    )
    return calling([n("F", "x", "y", domain="my", shape=[3, 2])], [f])


@form()
def function_attribute_in_a_branch():
    then = G([n("LeakyRelu", "a", "t", alpha=Ref("slope", FLOAT))], outs="t")
    other = G([n("Identity", "a", "e")], outs="e")
    f = function("F", "a p", "c", [n("If", "p", "c", then_branch=then, else_branch=other)], attributes=["slope"])
    p = np.array(True)
    return calling([n("F", "x p", "y", domain="my", slope=0.5)], [f], {"x": X, "p": p})


@form()
def function_optional_input():
    f = function("F", "a lo hi", "c", [n("Clip", "a lo hi", "c")])
    return calling([n("F", "x lo", "y", domain="my")], [f], inits={"lo": np.float32(0)})


@form()
def function_output_left_out():
    f = function("F", "a", "c d", [n("Neg", "a", "c"), n("Abs", "a", "d")])
    return calling([n("F", "x", "_ y", domain="my")], [f])


@form()
def function_of_another_opset():
    """In opset 12 Softmax flattens."""
    f = function("F", "a", "c", [n("Softmax", "a", "c", axis=1)], opset=12)
    x = floats(2, 3, 4)
    e = np.exp(x)
    m, ins = calling([n("F", "x", "y", domain="my")], [f], {"x": x})
    because = "it is read at its own opset; ONNX Runtime reads it at the model's"
    return m, ins, {"takes": "differ", "expected": [e / e.sum((1, 2), keepdims=True)], "because": because}


@form()
def function_out_of_order():
    f = function("F", "a", "c", [n("Relu", "t", "c"), n("Neg", "a", "t")])
    m, ins = calling([n("F", "x", "y", domain="my")], [f])
    return (
        m,
        ins,
        {"takes": "ours", "expected": [np.maximum(-X, 0)], "because": "ONNX Runtime wants a function's nodes sorted"},
    )


@form()
def function_names_shadow_the_graph():
    f = function("F", "y", "x", [n("Neg", "y", "t"), n("Abs", "t", "x")])
    return calling([n("Exp", "x", "t"), n("F", "t", "y", domain="my")], [f])


@form()
def function_in_a_branch():
    f = function("F", "a", "c", [n("Neg", "a", "c")])
    then = G([n("F", "x", "t", domain="my")], outs="t")
    other = G([n("Identity", "x", "e")], outs="e")
    p = np.array(True)
    return calling([n("If", "p", "y", then_branch=then, else_branch=other)], [f], {"x": X, "p": p})


@form()
def function_of_two_overloads():
    one = function("F", "a", "c", [n("Neg", "a", "c")], overload="one")
    two = function("F", "a", "c", [n("Exp", "a", "c")], overload="two")
    return calling(
        [n("F", "x", "t", domain="my", overload="one"), n("F", "t", "y", domain="my", overload="two")],
        [one, two],
        ir=10,
    )


@form()
def function_that_hands_on_its_input():
    f = function("F", "a", "a2", [n("Identity", "a", "a2")])
    return calling([n("F", "x", "t", domain="my"), n("Neg", "t", "y")], [f])


@form()
def function_never_called():
    return calling([n("Abs", "x", "y")], [function("F", "a", "c", [n("Neg", "a", "c")])])


@form()
def function_never_called_of_unknown_nodes():
    return calling(
        [n("Abs", "x", "y")], [function("F", "a", "c", [n("Unheard", "a", "c", domain="else")], imports=[("else", 1)])]
    )


@form()
def function_in_the_default_domain():
    """An operator that there is wins over a function of its name."""
    f = function("Celu", "X", "Y", [n("Neg", "X", "Y")], domain="")
    m = model([n("Celu", "x", "y")], {"x": X}, functions=[f])
    return m, {"x": X}, {}


@form()
def function_with_a_loop():
    body = G(
        [n("Add", "v a", "v2"), n("Identity", "c", "c2")],
        [info("i", 7, []), info("c", 9, []), info("v", 1, [2, 3])],
        "c2 v2",
    )
    f = function("F", "a", "r", [n("Constant", "", "k", value_int=2), n("Loop", "k _ a", "r", body=body)])
    return calling([n("F", "x", "y", domain="my")], [f])


@form(takes="neither", says="calls itself")
def function_calls_itself():
    f = function("F", "a", "c", [n("F", "a", "c", domain="my")], imports=[("my", 1)])
    return calling([n("F", "x", "y", domain="my")], [f])


@form(takes="neither", says="my")
def function_of_no_name_known():
    f = function("F", "a", "c", [n("Neg", "a", "c")])
    return calling([n("G", "x", "y", domain="my")], [f])


@form(takes="neither", says="inputs")
def function_of_too_many_inputs():
    f = function("F", "a", "c", [n("Neg", "a", "c")])
    return calling([n("F", "x x", "y", domain="my")], [f])
