#!/usr/bin/env python3
"""Writes the bindings of Tensor's methods from trainer/tensor/methods.def, which lists them, and of the functions that
functions.def lists: generate.py METHODS.def FUNCTIONS.def FOLDER, where it writes methods.inc, changes.inc (the methods
of functions.def) and functions.inc

Each WICK_METHOD becomes a method and a function of the module, with PyTorch's names of arguments; each WICK_INPLACE a
method. A type of argument that this program does not know is an error, so that no method is lost in silence.
"""

import os
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
RESULTS = {"Tensor", "bool", "std::vector<Tensor>", "Tensor[]"}
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


# Of functions.def: the parameter of C++ of each type, and what the function is given in its place.
TYPES = {
    "Tensor": ("const Tensor&", "{}"), "Tensor?": ("const Tensor*", "or_undefined({})"), "Tensor[]": ("const std::vector<Tensor>&", "{}"),
    "Scalar": ("Scalar", "{}"), "float": ("double", "{}"), "float?": ("std::optional<double>", "{}"), "bool": ("bool", "{}"),
    "flag": ("std::optional<bool>", "{}.value_or(false)"), "int": ("int64_t", "{}"), "int?": ("std::optional<int64_t>", "{}"),
    "dim": ("int", "{}"), "dim?": ("std::optional<int>", "{}"), "dims": ("const Dims&", "{}"), "sizes": ("const SizeList&", "{}"),
    "shape": ("const Shape&", "{}"), "pair": ("Pair", "{}"), "pair?": ("std::optional<Pair>", "{}"), "triple": ("Triple", "{}"),
    "triple?": ("std::optional<Triple>", "{}"), "dtype": ("DType", "{}"), "str": ("const std::string&", "{}.c_str()"), "char": ("char", "{}"),
    "reduction": ("const std::string&", "reduction_of({})"), "kl": ("const std::string&", "kl_reduction_of({})"),
}  # fmt: skip
VALUES = {"True": "true", "False": "false", "None": "nb::none()", "()": "nb::tuple()", "(-2, -1)": "nb::make_tuple(-2, -1)"}


def functions(lines):
    """The binding of each line of functions.def."""
    for line in filter(None, (line.partition("#")[0].strip() for line in lines)):
        match = re.fullmatch(r"(?:([\w.]+)=)?([\w:.]+)\((.*)\) -> (.*)", line)
        if not match:
            raise SystemExit(f"generate.py: this is no function: {line}")
        taken, given, named = [], [], ""
        for text in split(match[3]):
            if text == "*":
                named += ", nb::kw_only()"
                continue
            (kind, name), default = text.partition("=")[0].split(), text.partition("=")[2]
            ignored, kind = kind[0] == "!", kind.lstrip("!")
            if kind not in TYPES:
                raise SystemExit(f"generate.py: {match[2]}: no rule for an argument of type {kind}")
            cpp = f"{name}_" if name in ("bool", "float", "int", "char") else name
            taken.append(TYPES[kind][0] + ("" if ignored else f" {cpp}"))
            given += [] if ignored else [TYPES[kind][1].format(cpp)]
            none = ".none()" if kind[-1] == "?" or kind in ("dims", "flag") else ""
            named += f', nb::arg("{name}"){none}' + (f" = {VALUES.get(default, default)}" if default else "")
        python, function, result = match[1] or match[2], match[2], match[4]
        if python.startswith("Tensor."):  # a method of C++'s, or a function whose first argument is the tensor
            call = f"x.{function[7:]}({', '.join(given)})" if function == python else f"wick::{function}({', '.join(['x', *given])})"
            taken.insert(0, "nb::handle_t<Tensor> self" if result == "self" else "const Tensor& x")
        else:
            call = f"wick::{function}({', '.join(given)})"
        if result == "self":
            body = f"return in_place(self, [&](const Tensor& x) {{ {call}; }});"
        else:
            body = f"free_of_lock([&] {{ return {call}; }})"
            body = f"return {body};" if result in RESULTS else f"return tuple_of({body});"
        scope, name = ("t", python[7:]) if python.startswith("Tensor.") else ("m", python)
        yield f'  {scope}.def("{name}", []({", ".join(taken)}) {{ {body} }}{named});\n'


def main():
    source, listed, folder = sys.argv[1:4]

    def write(name, origin, made):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(f"// Written by generate.py from {origin}.\n" + "".join(made))

    with open(listed, encoding="utf-8") as file:
        made = list(functions(file))
    write("functions.inc", "functions.def", (line for line in made if line.startswith("  m.")))
    write("changes.inc", "functions.def", (line for line in made if line.startswith("  t.")))
    with open(source, encoding="utf-8") as file:
        found = list(rows(file.read()))
    methods, inplace, whole = [], [], set()
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
        if result != "bool":
            whole.add(name)
        methods.append(f'  t.def("{name}", {call}{named});\n  m.def("{name}", {call}, nb::arg("input"){named});\n')
    write("methods.inc", "trainer/tensor/methods.def", [*methods, *inplace, *(f'  also_by(m, "{name}", "out");\n' for name in sorted(whole))])


if __name__ == "__main__":
    main()
