"""docs/reference/pytorch.md: which name of Wick stands for one of PyTorch. check_reference.py holds it to the headers."""

import os
import re

PAGE, NAMES = "docs/reference/pytorch.md", "docs/reference/pytorch_names.txt"
ROW = re.compile(r"^\| `(torch[\w.]*)` \| (-|`wick::[\w:]+`) \| (.*?)\|$")
COUNT = re.compile(r"^(\d+) of (\d+)\.$")


# Where a name of PyTorch would be in Wick under the same name; the first that fits.
HOMES = (("torch.nn.functional.", "wick."), ("torch.utils.data.", "wick.data."), ("torch.", "wick."))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read().split("\n")


def same_name(name):
    """Wick's name that is spelled as PyTorch's."""
    home, ours = next(h for h in HOMES if name.startswith(h[0]))
    return (ours + name[len(home):]).replace(".", "::")


def check(root, symbols):
    """(problems, names that have a counterpart, names that have none); symbols: the public names of the headers."""
    wanted = [line for line in read(root, NAMES) if line and not line.startswith("#")]
    problems, seen, covered, head = [], set(), 0, None
    counts = {}  # heading -> [covered, all, as the page says, line]
    for number, line in enumerate(read(root, PAGE), 1):
        place = f"{PAGE}:{number}"
        if line.startswith("## "):
            head = line[3:]
            counts[head] = [0, 0, "no count", number]
        elif COUNT.match(line):
            counts[head][2] = line
        problems += [f"{place}: the headers have no {name}" for name in re.findall(r"`(wick::[\w:]+)", line)
                     if name not in symbols]
        row = ROW.match(line)
        if not row:
            if line.startswith("| `"):
                problems.append(f"{place}: not a row: | `torch.name` | `wick::name` or - | note |")
            continue
        name, wick = row.group(1), row.group(2)
        if name in seen:
            problems.append(f"{place}: {name} twice")
        elif name not in wanted:
            problems.append(f"{place}: {name} is not in {NAMES}")
        elif wick == "-" and name.startswith("torch.") and same_name(name) in symbols:
            problems.append(f"{place}: the headers have {same_name(name)}")
        seen.add(name)
        covered += wick != "-"
        counts[head][0] += wick != "-"
        counts[head][1] += 1
    problems += [f"{PAGE}: no row for {name}" for name in wanted if name not in seen]
    for head, (have, all_of, said, number) in counts.items():
        if said != f"{have} of {all_of}.":
            problems.append(f"{PAGE}:{number}: the count of {head} should read: {have} of {all_of}.")
    now = f"Now: {covered} names have a counterpart, {len(seen) - covered} have none."
    if now not in read(root, PAGE):
        problems.append(f"{PAGE}: the count should read: {now}")
    return problems, covered, len(seen) - covered


def page(root):
    """The index as a page of Doxygen's, with links."""
    out = ["/** \\page pytorch From PyTorch to Wick"]
    table = False
    for line in read(root, PAGE):
        row = ROW.match(line)
        if row:
            name, wick, note = row.groups()
            wick = f'\\ref {wick[1:-1]} "{wick[1:-1]}"' if wick != "-" else "-"
            note = re.sub(r"`([^`]*)`", r"<code>\1</code>", note)
            out.append(f"<tr><td>{name}</td><td>{wick}</td><td>{note}</td></tr>")
            table = True
            continue
        if table:
            out.append("</table>")
            table = False
        if line.startswith("## "):
            out.append(f"<h2>{line[3:]}</h2>")
        elif line.startswith("|---"):
            out.append("<table><tr><th>PyTorch</th><th>Wick</th><th></th></tr>")
        elif not line.startswith(("|", "#")):
            out.append(re.sub(r"`([^`]*)`", r"<code>\1</code>", line) or "<p>")
    return "\n".join(out + (["</table>"] if table else []) + ["*/"]) + "\n"
