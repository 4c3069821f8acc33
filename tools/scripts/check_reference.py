#!/usr/bin/env python3
"""Renders the reference of the public headers with Doxygen, requires a comment for every public name, and holds
docs/reference/pytorch.md to the names.

usage: check_reference.py [--html] [ROOT]      exit 0: all hold; 1: one line per problem; 77: skipped, no Doxygen

Public are the headers of */include/wick and what they include, without those of INTERNAL. A name is documented by its own
comment, by that of its group (reference_filter.py), or by the comment of its class where that has the name. A constructor,
operator() and forward() are documented by the comment of their class, the values of an enum by that of the enum, an override
by that of its base, a C typedef by that of its struct. The members of the standard's protocols (begin, size, operator++),
macros that a header removes again, lists of macros (X) and variables of derived classes (name_) need none.
"""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pytorch_index  # noqa: E402
import reference_filter  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GIVEN = False  # whether the command line has a ROOT
ROOMS = ("runtime", "trainer", "trainer/distributed", "quantize", "exporter", "sign", "tools/lib")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
# Headers that the pages tell programs to include by themselves.
BESIDE = ["trainer/data/array_data.h", "trainer/data/idx.h"]
# What public headers include for their own use: programs need none of these names.
INTERNAL = set("""
    graph/ir/file_bytes.h quantize/observe/histogram.h quantize/observe/observer.h quantize/passes/passes.h
    quantize/passes/plan.h runtime/core/arena.h runtime/core/array.h runtime/core/async_work.h
    runtime/core/function_ref.h runtime/core/ledger.h runtime/core/lent_bytes.h
    runtime/ops/attrs.h runtime/ops/attrs/attention.h runtime/ops/attrs/bit.h
    runtime/ops/attrs/chain.h runtime/ops/attrs/control.h runtime/ops/attrs/conv.h runtime/ops/attrs/fake_quantize.h
    runtime/ops/attrs/image.h runtime/ops/attrs/index.h runtime/ops/attrs/layout.h runtime/ops/attrs/linalg.h
    runtime/ops/attrs/norm.h runtime/ops/attrs/pool.h runtime/ops/attrs/quantize.h runtime/ops/attrs/recurrent.h
    runtime/ops/attrs/reduce.h runtime/ops/attrs/sequence.h runtime/ops/attrs/signal.h runtime/ops/attrs/string.h
    runtime/ops/attrs/text.h runtime/ops/attrs/trees.h runtime/ops/attrs/unary.h runtime/ops/attrs/view.h runtime/ops/attrs/window.h
    runtime/ops/resize_scale.h runtime/ops/rule.h runtime/ops/shape_args.h runtime/program/layout.h
    trainer/autograd/grad_table.h trainer/kernels/optim_loops.h trainer/loop/metrics_csv.h trainer/nn/extra_repr.h
    trainer/nn/hook_forms.h
    trainer/optim/device_step.h trainer/optim/flat_pass.h trainer/optim/group_state.h trainer/optim/line_search.h
    trainer/optim/row_steps.h
    trainer/tensor/device/device_address.h trainer/tensor/intrusive.h trainer/tensor/small_vector.h
    trainer/tensor/tensor_tree.h trainer/tensor/tracer.h trainer/tensor/watcher.h
""".split())


def find(path):
    for base in [""] + [f"{room}/include/" for room in ROOMS]:
        if os.path.isfile(os.path.join(ROOT, base, path)):
            return base + path
    return None


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def public_headers():
    """(the public headers, in the order of their paths; problems of INTERNAL)."""
    found, todo = set(), []
    for room in ROOMS:
        for folder, _, names in sorted(os.walk(os.path.join(ROOT, room, "include", "wick"))):
            todo += [os.path.relpath(os.path.join(folder, n), ROOT) for n in sorted(names)]
    todo += [path for path in BESIDE if os.path.exists(os.path.join(ROOT, path))]
    direct = {p for header in todo for p in map(find, INCLUDE.findall(read(header)))}
    while todo:
        path = todo.pop()
        if path in found or not path.endswith(".h"):
            continue
        found.add(path)
        todo += [p for p in map(find, INCLUDE.findall(read(path))) if p]
    problems = [f"{path}: internal (check_reference.py), but a header of include/wick includes it" for path in INTERNAL & direct]
    problems += [f"{path}: no public header includes it any more: take it out of INTERNAL" for path in INTERNAL - found
                 if os.path.exists(os.path.join(ROOT, path))]
    return sorted(found - INTERNAL), sorted(problems)


def render(html):
    """Runs Doxygen on the filtered headers; returns its folder, the headers and its warnings."""
    build = os.path.join(ROOT, "build") if html or GIVEN else os.environ.get("WICK_BUILD", os.path.join(ROOT, "build"))
    out = os.path.join(build, "reference")
    source = os.path.join(out, "input")
    for folder in [source, os.path.join(out, "xml")] + ([os.path.join(out, "html")] if html else []):
        shutil.rmtree(folder, ignore_errors=True)
    headers, problems = public_headers()
    for path in headers:
        os.makedirs(os.path.join(source, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(source, path), "w", encoding="utf-8") as f:
            f.write(reference_filter.Reading(path, read(path)).output())
    for name, text in (("pytorch.dox", pytorch_index.page(ROOT)), ("main.dox", read("docs/reference/main.dox"))):
        with open(os.path.join(source, name), "w", encoding="utf-8") as f:
            f.write(text)
    config = read("docs/reference/Doxyfile") + f"\nOUTPUT_DIRECTORY = ..\nGENERATE_HTML = {'YES' if html else 'NO'}\nINPUT = .\n"
    run = subprocess.run(["doxygen", "-"], cwd=source, input=config, text=True, capture_output=True, check=False)
    warnings = [line.replace(source + "/", "") for line in run.stderr.split("\n") if line.strip()]
    return out, headers, warnings + problems


def text_of(node):
    """The comment of an entity."""
    return " ".join("".join(part.itertext()) for name in ("briefdescription", "detaileddescription", "inbodydescription")
                    for part in node.findall(name)).strip()


MACROS = set("WICK_API WICK_ALIGN8 WICK_SMALL WICK_ERROR_TEXTS WICK_CONCAT WICK_CONCAT_INNER WICK_ASSIGN_IMPL".split())
BASES = {}  # class -> the names of its bases, whose constructors it takes over
PROTOCOL = set("begin end size empty operator* operator-> operator++ operator!= operator== operator[] operator= operator<<".split())


def exempt(member, kind, name, compound, own):
    """Whether a name needs no comment of its own; `own`: the comment of its class."""
    if kind == "friend" or name.startswith(("~", "@")):
        return True
    if kind == "define":
        body = read(member.find("location").get("file"))
        return (not re.match(r"WICK_[A-Z]", name) or name in MACROS or re.search(rf"^\s*#\s*undef {name}\b", body, re.M) is not None or
                [p.findtext("defname") for p in member.findall("param")] == ["X"] or name.endswith("_H_"))
    if kind == "typedef" and re.match(rf"typedef (struct|enum) {name} {name}$", (member.findtext("definition") or "")):
        return name in BASES
    if own is None:
        return False
    if name == compound.split("::")[-1].split("<")[0] or name in ("operator()", "forward"):
        return True
    if name in PROTOCOL or name.startswith("operator ") or member.find("reimplements") is not None:
        return True
    if name.endswith("_") and kind == "variable" or "<" in compound.split("::")[-1]:
        return True
    args = member.findtext("argsstring") or ""
    return bool(re.search(r"\boverride\b|=\s*(default|delete)", args)) or name in BASES.get(compound, ())


def examine(out):
    """(the number of names, [(file, line, name)] of those without a comment, all names in full)."""
    seen, missing, symbols = set(), [], set()
    for entry in sorted(os.listdir(os.path.join(out, "xml"))):  # names of structs first: typedefs ask for them
        if re.match(r"struct", entry):
            title = ET.parse(os.path.join(out, "xml", entry)).getroot().find("compounddef/compoundname")
            BASES.setdefault(title.text, set())
    for entry in sorted(os.listdir(os.path.join(out, "xml"))):
        if not re.match(r"(class|struct|namespace|union|.*_8h\.xml)", entry) or entry == "namespacestd.xml":
            continue
        for compound in ET.parse(os.path.join(out, "xml", entry)).getroot().findall("compounddef"):
            kind, title = compound.get("kind"), compound.findtext("compoundname")
            own = text_of(compound)
            scope = re.sub(r"<.*", "", title).strip()
            symbols.add(scope)
            if kind in ("class", "struct", "union"):
                if compound.get("prot") == "private" or "@" in title:
                    continue
                seen.add(compound.get("id"))
                BASES[title] = {re.sub(r"<.*", "", base.text).split("::")[-1] for base in compound.findall("basecompoundref")}
                at = compound.find("location")
                if not own and "<" not in title.split("::")[-1]:
                    missing.append((at.get("file"), int(at.get("line")), title))
            for member in compound.iter("memberdef"):
                name, mkind = member.findtext("name"), member.get("kind")
                if member.get("prot") == "private" or (kind == "file" and mkind != "define" and member.get("static") == "yes"):
                    continue
                if kind == "file" and mkind == "define" and not name.startswith("WICK_"):
                    continue
                symbols.add(f"{scope}::{name}")
                if member.get("id") in seen:
                    continue
                seen.add(member.get("id"))
                at = member.find("location")
                where = (at.get("file"), int(at.get("line")))
                doc = text_of(member)
                if not doc and not exempt(member, mkind, name, title, own if kind in ("class", "struct", "union") else None) and not (
                        kind in ("class", "struct", "union") and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", own)):
                    missing.append(where + (f"{title}::{name}" if kind != "file" else name,))
                if mkind == "enum":
                    for value in member.findall("enumvalue"):
                        seen.add(value.get("id"))
                        symbols.add(f"{scope}::{name}::{value.findtext('name')}")
                        if not text_of(value) and not doc:
                            missing.append(where + (f"{title}::{name}::{value.findtext('name')}",))
    return len(seen), sorted(set(missing)), symbols


def main():
    global ROOT, GIVEN
    html = "--html" in sys.argv
    rest = [a for a in sys.argv[1:] if a != "--html"]
    if rest:
        ROOT, GIVEN = os.path.abspath(rest[0]), True
        reference_filter.ROOT = ROOT
    if shutil.which("doxygen") is None:
        print("SKIP: doxygen not installed: the reference is neither rendered nor checked (apt-get install doxygen)")
        return 77
    out, headers, warnings = render(html)
    names, missing, symbols = examine(out)
    problems, covered, gaps = pytorch_index.check(ROOT, symbols)
    for line in warnings + [f"{path}:{line}: {name} has no comment" for path, line, name in missing] + problems:
        print(line)
    print(f"reference: {len(headers)} headers, {names} names, {len(missing)} without a comment, {len(warnings)} warnings")
    print(f"PyTorch: {covered} names have a counterpart, {gaps} have none, {len(problems)} problems")
    if html:
        print(f"rendered: {os.path.relpath(os.path.join(out, 'html', 'index.html'))}")
    return 1 if missing or warnings or problems or names == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
