"""The smallest part of a graph that still differs.

A part is some of the nodes; what they use and do not make is given to them, with the value that it had. First every
node alone, then connected pairs and triples, then the graph less one node at a time while that still differs. The bodies
of what is left lose nodes in the same way.
"""

import json
import os
import shutil
import subprocess
import tempfile

from graph import Body, Graph, Node
from wire import T

MOST = 400  # parts of a size that are looked at


def part(g, nodes, role=None):
    """These nodes of `g` as a graph, with what ONNX Runtime makes of it; None where it refuses it."""
    out = Graph(g.opset)
    out.values, out.bound, out.nodes = dict(g.values), g.bound, list(nodes)
    made = {o for n in nodes for o in n.outs if o}
    used = {u for n in nodes for u in n.used()}
    for u in [u for n in nodes for u in n.used()]:
        if u not in made:
            out.made[u] = role or g.made.get(u, "input")
    out.outputs = [o for n in nodes for o in n.outs if o and (o not in used or o in g.outputs)]
    out.symbols = {n for n in g.symbols if n in out.made}
    try:
        for n, a in zip(out.outputs, out.expected()):
            out.values[n] = T(a)
    except Exception:
        return None
    return out


def connected(nodes, k):
    """Sets of k nodes that hang together, by their numbers."""
    maker = {o: i for i, n in enumerate(nodes) for o in n.outs if o}
    beside = [set() for _ in nodes]
    for i, n in enumerate(nodes):
        for u in n.used():
            if u in maker:
                beside[i].add(maker[u])
                beside[maker[u]].add(i)
    sets = {frozenset([i]) for i in range(len(nodes))}
    for _ in range(k - 1):
        sets = {s | {j} for s in sets for i in s for j in beside[i] if j not in s}
    return sorted(sorted(s) for s in sets)[:MOST]


def failures(wick, mode, graphs):
    """{index: why} of the graphs that differ in a mode; a crash of the program is one too."""
    root = tempfile.mkdtemp(prefix="wick-shrink-")
    try:
        for i, g in enumerate(graphs):
            if g is not None:
                g.write(f"{root}/{i:06d}")
        return {int(k): why for k, why in run_folder(wick, mode, root).items()}
    finally:
        shutil.rmtree(root)


def run_folder(wick, mode, root, names=None):
    """{case: why} of a folder of cases. Where the program dies the cases are run one by one."""
    names = names or sorted(n for n in os.listdir(root) if os.path.isdir(os.path.join(root, n)))
    if not names:
        return {}
    with tempfile.TemporaryDirectory() as scratch:
        report, listing = scratch + "/report.json", scratch + "/list"
        with open(listing, "w") as f:
            f.write("\n".join(names) + "\n")
        p = subprocess.run(
            [wick, "conformance", root, "--mode", mode, "--json", report, "--list", listing],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if os.path.exists(report):
            with open(report) as f:
                return json.load(f)["failures"]
    if len(names) == 1:
        return {names[0]: f"the program dies with {p.returncode}"}
    half = len(names) // 2
    return {**run_folder(wick, mode, root, names[:half]), **run_folder(wick, mode, root, names[half:])}


def without(n, which, counter):
    """Node `n` less one node of its bodies, whose results come from outside; and how many there are."""
    out = Node(n.op, n.ins, n.outs, n.attrs, n.codes)
    for k, a in n.attrs.items():
        if not isinstance(a, Body):
            continue
        kept = []
        for m in a.nodes:
            counter[0] += 1
            if counter[0] - 1 == which:
                continue
            kept.append(without(m, which, counter) if m.bodies else m)
        b = Body(kept, a.ins, a.outs, dict(a.made), a.rankless)
        made = {o for m in kept for o in m.outs} | set(a.ins)
        lost = [o for o in a.outs if o not in made and o not in a.made]
        for o in lost:  # an output of a body is made there
            b.made[o] = "init"
        out.attrs[k] = b
    return out


def bodies_less(wick, mode, g, same_kind):
    """A graph whose bodies have as few nodes as still differ."""
    while True:
        tries = []
        for i, n in enumerate(g.nodes):
            if not n.bodies:
                continue
            counter = [0]
            without(n, -1, counter)
            for w in range(counter[0]):
                tries.append(part(g, g.nodes[:i] + [without(n, w, [0])] + g.nodes[i + 1 :]))
        found = {i: why for i, why in failures(wick, mode, tries).items() if same_kind(why)}
        if not found:
            return g
        g = tries[min(found, key=lambda i: tries[i].size())]


def smaller(wick, mode, g, why, kind):
    """The smallest part that was found of `g`, which differs because of `why`; and why it does."""
    want = kind(why)
    like = lambda w: kind(w) == want  # noqa: E731
    for k in (1, 2, 3):
        tries = [part(g, [g.nodes[i] for i in s]) for s in connected(g.nodes, k)]
        found = {i: w for i, w in failures(wick, mode, tries).items() if like(w)}
        if found:
            best = min(found, key=lambda i: tries[i].size())
            break
    else:
        best, tries, found = 0, [g], {0: why}
        while True:
            new = [part(tries[best], tries[best].nodes[:i] + tries[best].nodes[i + 1 :]) for i in range(len(tries[best].nodes))]
            more = {i: w for i, w in failures(wick, mode, new).items() if like(w)}
            if not more:
                break
            tries, found = new, more
            best = min(more, key=lambda i: new[i].size())
    g, why = tries[best], found[best]
    if any(n.bodies for n in g.nodes):
        g = bodies_less(wick, mode, g, like)
        why = failures(wick, mode, [g]).get(0, why)
    return g, why
