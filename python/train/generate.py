#!/usr/bin/env python3
"""Writes the bindings of Tensor's methods from trainer/tensor/methods.def, which lists them: generate.py DEF OUT.inc

Each WICK_METHOD becomes a method and a function of the module, with PyTorch's names of arguments; each WICK_INPLACE a
method. A type of argument that this program does not know is an error, so that no method is lost in silence.
"""

import re
import sys

# Methods that take sizes as PyTorch does, each as an argument of its own: tensor.cc has them.
BY_HAND = {"repeat", "tile", "broadcast_to", "flip", "new_empty", "new_zeros", "new_ones", "new_full", "unique", "unique_consecutive"}
# PyTorch's names where C++ has others.
NAMES = {"dims": "dim", "from": "source", "to": "destination", "a": "tensor1", "b": "tensor2", "v": "vec", "n": "n"}
NAMES_OF = {("flip", "dims"): "dims", ("roll", "dims"): "dims", ("rot90", "dims"): "dims", ("norm", "dims"): "dim", ("addmm", "a"): "mat1", ("addmm", "b"): "mat2"}
PLAIN = {"bool", "int", "int64_t", "double", "Scalar", "Dims", "OptScalar", "OptDType", "DType", "SizeArg"}
TAKEN = {"const Arg&": "const Tensor&", "const SizeList&": "const SizeList&", "const Shape&": "const Shape&",
         "const char*": "const char*", "const std::string&": "const std::string&"}  # fmt: skip
RESULTS = {"Tensor", "bool", "std::vector<Tensor>"}
TUPLES = {"ValuesIndices", "MinMax", "SlogdetResult", "QrResult"}


def rows(text):
    """(kind, result, name, arguments, parameters) of each line, with the shorthands written out."""
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"//.*", "", text)
    text = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for match in re.finditer(r"\b(WICK_\w+)\(", text):
        kind, at, depth = match[1], match.end(), 1
        if kind == "WICK_OR":
            continue
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        given = split(text[match.end() : at - 1])
        if kind == "WICK_ONE":
            yield "method", given[0], given[1], [], []
        elif kind in ("WICK_WITH", "WICK_WITH_NUMBER"):
            yield "method", "Tensor", given[0], ["other"], ["const Arg& other"]
            if kind == "WICK_WITH_NUMBER":
                yield "method", "Tensor", given[0], ["other"], ["Scalar other"]
        elif kind == "WICK_REDUCED":
            yield "method", "Tensor", given[0], ["dims", "keepdim"], ["Dims dims WICK_OR(Dims())", "bool keepdim WICK_OR(false)"]
        elif kind == "WICK_METHOD":
            yield "method", given[0], given[1], split(given[2][1:-1]), given[3:]
        elif kind == "WICK_INPLACE_ONE":
            yield "inplace", "", given[0], [], []
        elif kind == "WICK_INPLACE_WITH":
            yield "inplace", "", given[0], ["other"], ["const Arg& other"]
            yield "inplace", "", given[0], ["other"], ["Scalar other"]
        elif kind == "WICK_INPLACE":
            yield "inplace", "", given[0], split(given[1][1:-1]), given[2:]
        else:
            raise SystemExit(f"generate.py: {kind} is new: write what it means")


def split(text):
    """The parts between commas that stand in no brackets."""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += {"(": 1, "<": 1, "{": 1, ")": -1, ">": -1, "}": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [*parts, part.strip()] if part.strip() else parts


def parameter(method, text):
    """(C++ parameter, C++ argument, nb::arg) of "const Arg& other" and the like."""
    text = " ".join(text.split())
    default = re.search(r" WICK_OR\((.*)\)$", text)
    kind, name = (text[: default.start()] if default else text).rsplit(" ", 1)
    python = NAMES_OF.get((method, name), NAMES.get(name, name))
    if kind == "const Tensor&":  # None: undefined
        return f"const Tensor* {name}", f"or_undefined({name})", f'nb::arg("{python}").none() = nb::none()'
    if kind.startswith("std::optional<") or kind in ("OptScalar", "OptDType"):
        return f"{kind} {name}", name, f'nb::arg("{python}").none()' + (" = nb::none()" if default else "")
    if kind == "Dims":
        value = {None: "", "Dims()": " = nb::none()"}.get(default and default[1], " = nb::make_tuple(0, 1)")
        return f"const Dims& {name}", name, f'nb::arg("{python}").none()' + value
    if kind in TAKEN:
        return f"{TAKEN[kind]} {name}", name, f'nb::arg("{python}")' + (f" = {default[1]}" if default else "")
    if kind not in PLAIN:
        raise SystemExit(f"generate.py: {method}: no rule for an argument of type {kind}")
    taken = "int64_t" if kind == "SizeArg" else kind
    return f"{taken} {name}", name, f'nb::arg("{python}")' + (f" = {default[1]}" if default else "")


def main():
    source, target = sys.argv[1:3]
    with open(source, encoding="utf-8") as file:
        found = list(rows(file.read()))
    methods, inplace = [], []
    for kind, result, name, arguments, parameters in found:
        if name in BY_HAND or any("std::initializer_list<" in p for p in parameters):  # braces are C++'s alone
            continue
        parts = [parameter(name, p) for p in parameters]
        taken = "".join(", " + p[0] for p in parts)
        given = ", ".join(p[1] for p in parts)
        named = "".join(", " + p[2] for p in parts)
        assert len(parts) == len(arguments), (name, parts, arguments)
        if kind == "inplace":
            inplace.append(
                f'  t.def("{name}_", [](nb::handle_t<Tensor> self{taken}) {{ return in_place(self, [&](const Tensor& x) '
                f"{{ x.{name}_({given}); }}); }}{named});\n"
            )
            continue
        if result not in RESULTS | TUPLES:
            raise SystemExit(f"generate.py: {name}: no rule for a result of type {result}")
        call = f"free_of_lock([&] {{ return x.{name}({given}); }})"
        call = f"[](const Tensor& x{taken}) {{ return {f'tuple_of({call})' if result in TUPLES else call}; }}"
        methods.append(f'  t.def("{name}", {call}{named});\n  m.def("{name}", {call}, nb::arg("input"){named});\n')
    with open(target, "w", encoding="utf-8") as file:
        file.write("// Written by generate.py from trainer/tensor/methods.def.\n")
        file.write("".join(methods) + "".join(inplace))


if __name__ == "__main__":
    main()
