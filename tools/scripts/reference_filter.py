#!/usr/bin/env python3
"""Shows Wick's comments to Doxygen, which reads /** */ only: usage: reference_filter.py FILE > what Doxygen reads.

A comment documents the declaration below it and those that follow without a blank line or a comment between (a group), but
for one that begins with a verb of one (Returns, Takes): then only what has the same name, or a name that the comment has.
One at the end of a declaration's line documents that declaration. What a heading says (// -- views: share the bytes) is added
to everything below it, and documents nothing by itself. Lists of macros (X(exp) X(log)) become the declarations that the
compiler sees, each with the comment beside its entry. Every line keeps its number.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IGNORED = re.compile(r"^(NOLINT|clang-format|IWYU|TODO)")
# In these files an included list is declarations of the place that includes it.
LISTS = {"trainer/tensor/tensor.h": '#include "trainer/tensor/methods.inc"',
         "trainer/tensor/ops/inplace.h": '#include "trainer/tensor/methods.def"'}
SPECIFIER = re.compile(r"(public|private|protected)\s*$")
TYPE = re.compile(r"(?:typedef\s+)?(class|struct|union|enum)\b")


# A comment that begins with one of these is of one function.
ONE = re.compile(r"(Returns|Throws|Calls|Takes|Makes|Reads|Writes|Adds|Keeps|Loads|Moves|Removes|Replaces|Runs|Sets|Shows|Saves|"
                 r"Builds|Learns|Computes|Resets|Maps|Puts|Counts|Formats|Restores|Declares|Does|Opens|Checks|Copies|Gives|"
                 r"Prints|Contracts|Takes|Includes|Captures|Reverses|Lists|Ends|Installs|Describes|Fills|Registers|Draws|Tells|Applies|Drops|Doubles)\b")


# One that begins with one of these is of variables and functions alike.
MIXED = re.compile(r"(What \w+ (reads|needs)|These)\b")


class Comment:
    """One comment of a file: its text, its lines, and whether code stands before it on its line."""

    def __init__(self, first, last, column, text, alone):
        self.first, self.last, self.column, self.text, self.alone = first, last, column, text, alone


class Declaration:
    """Where a declaration begins, where it ends, where its body opens, and the scope that it stands in."""

    def __init__(self, start, end, brace, scope, text):
        self.start, self.end, self.brace, self.scope, self.text = start, end, brace, scope, text
        self.docs, self.section, self.group = [], None, None


def split_comments(text):
    """The text with comments, strings and preprocessor lines blanked, and the comments."""
    comments, i, line, begin = [], 0, 0, 0
    code = list(text)

    def blank(a, b):
        for k in range(a, b):
            if code[k] != "\n":
                code[k] = " "

    while i < len(text):
        c = text[i]
        if c == "\n":
            line, begin = line + 1, i + 1
        elif c == "#" and text[begin:i].strip() == "":
            end = i
            while True:
                stop = text.find("\n", end)
                stop = len(text) if stop < 0 else stop
                if stop == 0 or text[stop - 1] != "\\":
                    break
                end = stop + 1
            blank(i, stop)
            line += text.count("\n", i, stop)
            i = stop
            continue
        elif text.startswith("//", i) or text.startswith("/*", i):
            stop = text.find("\n", i) if text[i + 1] == "/" else text.find("*/", i) + 2
            stop = len(text) if stop < 0 else stop
            body = text[i + 2:stop] if text[i + 1] == "/" else text[i + 2:stop - 2]
            lines = body.count("\n")
            rest = text[stop:text.find("\n", stop)].strip()
            alone = text[begin:i].strip() == "" and (text[i + 1] == "/" or rest == "")
            comments.append(Comment(line, line + lines, i - begin, body, alone))
            blank(i, stop)
            line += lines
            begin = text.rfind("\n", 0, stop) + 1
            i = stop
            continue
        elif c == '"' or (c == "'" and not (i and text[i - 1].isalnum())):
            k = i + 1
            while text[k] != c:
                k += 2 if text[k] == "\\" else 1
            blank(i + 1, k)
            i = k
        i += 1
    return "".join(code), comments


def after_templates(text):
    """The text of a declaration without its template<...> and requires."""
    text = text.strip()
    while text.startswith("template"):
        depth, k = 0, text.find("<")
        for k in range(k, len(text)):
            depth += {"<": 1, ">": -1}.get(text[k], 0)
            if depth == 0:
                break
        text = text[k + 1:].strip()
    if text.startswith("requires"):
        found = re.search(r"\b(class|struct|union|enum)\b[^()]*$", text)
        return found.group(0) if found else text
    return text


def is_variable(text):
    """Whether what stands before a { is a variable with a value, not a function."""
    text = re.sub(r"\boperator\s*[^\s\w(]+", "", text)
    while True:
        less = re.sub(r"\([^()]*\)|<[^<>]*>", "", text)
        if less == text:
            return re.search(r"(?<!operator)(?<![=!<>])=(?!=)", text) is not None
        text = less


def declarations(code):
    """The declarations of namespaces, classes and enums, in order."""
    found, scopes = [], ["namespace"]
    starts = [0]
    for k, c in enumerate(code):
        if c == "\n":
            starts.append(k + 1)

    def line_of(k):
        lo, hi = 0, len(starts) - 1
        while lo < hi:
            mid = (lo + hi + 1) // 2
            lo, hi = (mid, hi) if starts[mid] <= k else (lo, mid - 1)
        return lo

    i, start, brace, paren, number, ids, open_types = 0, None, None, 0, 0, [0], []

    def add(begin, end, open_at, text):
        d = Declaration((line_of(begin), begin - starts[line_of(begin)]), (line_of(end), end - starts[line_of(end)]),
                        None if open_at is None else line_of(open_at), ids[-1], text)
        found.append(d)
        return d

    while i < len(code):
        c = code[i]
        if start is None:
            macro = re.compile(r"WICK_[A-Z0-9_]+\([^\n;]*\);?[ ]*(?=\n)").match(code, i)
            if c.isspace() or c in ";,":
                i += 1
                continue
            if c == "}":
                scopes.pop()
                ids.pop()
                i += 1
                if open_types and open_types[-1][0] == len(scopes):
                    _, d, opened = open_types.pop()
                    stop = code.find(";", i)
                    d.end = (line_of(stop), stop - starts[line_of(stop)])
                    i = stop + 1
                continue
            if macro and "X" not in scopes[-1:] and scopes[-1] != "enum":
                add(i, macro.end() - 1, None, macro.group(0))
                i = macro.end()
                continue
            start, brace, paren = i, None, 0
        if c in "([":
            paren += 1
        elif c in ")]":
            paren -= 1
        elif c == ":" and paren == 0 and scopes[-1] == "class" and SPECIFIER.match(code[start:i]):
            d = add(start, i, None, "access")
            start = None
        elif c == "{" and paren == 0:
            text = code[start:i]
            head = after_templates(text)
            if re.match(r"(inline\s+)?namespace\b|extern\s+\"", head):
                scopes.append("namespace")
                number += 1
                ids.append(number)
                start = None
            elif TYPE.match(head) and "=" not in re.sub(r"<[^<>]*>", "", head) and not re.search(r"\)\s*$", head.split(":")[0]):
                d = add(start, i, i, text)
                open_types.append((len(scopes), d, i))
                scopes.append("enum" if re.match(r"(typedef\s+)?enum", head) else "class")
                number += 1
                ids.append(number)
                start = None
            else:
                variable = is_variable(text)
                brace = i if brace is None and not variable else brace
                depth = 0
                while True:
                    depth += {"{": 1, "}": -1}.get(code[i], 0)
                    if depth == 0:
                        break
                    i += 1
                rest = re.compile(r"\s*(\S)").match(code, i + 1)
                after = rest.group(1) if rest else ""
                if not variable and after not in (";", ",", "{", ")") or (after == "," and scopes[-1] == "enum"):
                    add(start, i, brace, text)
                    start = None
        elif c == "{":
            depth = 0
            while True:
                depth += {"{": 1, "}": -1}.get(code[i], 0)
                if depth == 0:
                    break
                i += 1
        elif c == ";" and paren == 0:
            add(start, i, brace, code[start:i])
            start = None
        elif scopes[-1] == "enum" and c == "," and paren == 0:
            add(start, i, None, code[start:i])
            start = None
        elif c == "}" and scopes[-1] == "enum":
            add(start, i - 1, None, code[start:i])
            start = None
            continue
        i += 1
    return found


def speaks_of(lines, name, first):
    """Whether a comment above a declaration of the name `first` also documents the later one of this name."""
    text = " ".join(lines)
    if name == first or re.search(rf"(?<!\w){re.escape(name)}\(", text):
        return True
    return not ONE.match(text)


def name_of(text):
    """The name that a declaration declares, as far as two of them must be told apart."""
    found = re.search(r"(\w+|operator\S+)\s*\(", text) or re.search(r"(\w+)\s*(?:[=;{\[]|$)", text)
    return found.group(1) if found else text


def kind_of(declaration):
    """function, type or variable: a comment above one kind says nothing of another below it."""
    text = " ".join(after_templates(declaration.text).split())
    if re.match(r"(using|typedef|class|struct|union|enum)\b", text) and not (declaration.brace is None and "(" in text):
        return "type"
    if is_variable(re.sub(r"= (0|default|delete)$", "", text)):
        return "variable"
    return "function" if declaration.brace is not None or re.search(
        r"\)\s*(const|noexcept|override|= 0|= default|= delete|\s)*$", text) else "variable"


def declarators(text):
    """`int a = 1, b` as ["int a = 1", "int b"]; one declaration as it is."""
    text = " ".join(text.split())
    if re.match(r"(using|typedef|friend|template|class|struct|union|enum|WICK_)\b", text) or text.startswith("WICK_"):
        return [text]
    parts, depth, word = [], 0, ""
    for k, c in enumerate(text):
        depth += {"(": 1, ")": -1, "{": 1, "}": -1, "[": 1, "]": -1, "<": 1}.get(c, 0)
        depth -= c == ">" and text[k - 1] != "-"
        if c == "," and depth == 0:
            parts.append(word.strip())
            word = ""
        else:
            word += c
    parts.append(word.strip())
    first = re.match(r"(.*?[\s&*>])(\w+\s*(?:[={\[].*)?)$", parts[0])
    if len(parts) == 1 or not first or "(" in parts[0].split("=")[0]:
        return [text]
    return [parts[0]] + [first.group(1).rstrip("*& ") + " " + part for part in parts[1:]]


def escape(text):
    """Text in which Doxygen finds no command, tag or entity; `code` becomes <code>."""
    out = []
    for k, part in enumerate(text.split("`")):
        part = part.replace("*/", "* /").replace("/*", "/ *")
        part = re.sub(r"([\\@&<>#%\"])", lambda m: "\\" + m.group(1), part)
        part = part.replace("::", "\\::") if k % 2 else part.replace(">::", ">\\::")
        out.append(("<code>" if k % 2 else "</code>" if k else "") + part)
    if len(out) % 2 == 0:
        return escape(text.replace("`", "'"))
    return "".join(out)


def lines_of(comments):
    """The lines of a block of comments, without its marks."""
    lines = []
    for c in comments:
        for line in c.text.split("\n"):
            line = re.sub(r"^\s*\*(?=\s|$)", "", line) if "\n" in c.text else line
            lines.append(line[1:].rstrip() if line.startswith(" ") else line.rstrip())
    return lines


def says(lines):
    """Whether a block of comments documents what is below it."""
    text = " ".join(lines).strip()
    return bool(text) and not IGNORED.match(text)


def heading(lines, width):
    """(the heading that a block begins with, the rest): a heading goes on where the next word did not fit in its line."""
    if not lines or not lines[0].startswith("--"):
        return [], lines
    k = 1
    while k < len(lines) and lines[k] and len(lines[k - 1]) + 1 + len(lines[k].split()[0]) > width:
        k += 1
    return lines[:k], lines[k:]


def flat(lines):
    """The block in one line, as the inside of /** */: examples and lists keep their lines by <br>."""
    out = []
    for line in lines:
        if IGNORED.match(line.strip()):
            continue
        text = escape(line.strip())
        if line.strip() == "":
            out.append("<br>")
        elif line.startswith("  "):
            out.append("<br>&emsp;" + text)
        else:
            out.append(text)
    return re.sub(r"^\s*-- ?", "", " ".join(out))


def macros(text):
    """The function-like macros of a file: name -> every definition in order, as (line, parameters, body)."""
    found = {}
    for m in re.finditer(r"^[ ]*#[ ]*define[ ]+(\w+)\(([^)]*)\)((?:[^\n]*\\\n)*[^\n]*)", text, re.M):
        line = text.count("\n", 0, m.start())
        body = m.group(3).replace("\\\n", "\n")
        found.setdefault(m.group(1), []).append((line, [p.strip() for p in m.group(2).split(",")], body))
    return found


def arguments(text):
    """The arguments of a call of a macro, from the text between its parentheses."""
    out, depth, word = [], 0, ""
    for c in text:
        depth += {"(": 1, ")": -1, "<": 0}.get(c, 0)
        if c == "," and depth == 0:
            out.append(word.strip())
            word = ""
        else:
            word += c
    return out + [word.strip()]


def substitute(macro, values):
    _, parameters, body = macro
    if parameters and parameters[-1] == "...":
        parameters = parameters[:-1] + ["__VA_ARGS__"]
        values = values[:len(parameters) - 1] + [", ".join(values[len(parameters) - 1:])]
    pairs = dict(zip(parameters, values))
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    body = re.sub(r"\b\w+\b", lambda m: pairs.get(m.group(0), m.group(0)), body)
    return re.sub(r"\s*##\s*", "", body).replace("\n", " ")


def expansion(call, line, known):
    """[(comment, declaration)] of a call of a macro of this file; None: it is no such macro."""
    m = re.match(r"(\w+)\((.*)\)", call.strip().rstrip(";"), re.S)
    before = [d for d in known.get(m.group(1), []) if d[0] < line] if m else []
    if not before:
        return None
    values = arguments(m.group(2))
    _, parameters, body = before[-1]
    # A list: its parameter is the name of a macro, which it calls for each entry.
    of = [d for d in known.get(values[0], []) if d[0] < line]
    if len(parameters) == 1 and of and re.search(rf"\b{parameters[0]}\(", body):
        out, group = [], []
        for row in body.split("\n"):
            entry = re.match(rf"\s*{parameters[0]}\((.*?)\)\s*(?:/\*(.*?)\*/)?\s*$", row)
            if entry:
                own = [entry.group(2).strip()] if entry.group(2) else []
                for text in statements(substitute(of[-1], arguments(entry.group(1)))):
                    out.append((group + own, text))
            elif re.match(r"\s*/\*.*\*/\s*$", row):
                group = [row.strip()[2:-2].strip()]
        return out
    return [([], text) for text in statements(substitute(before[-1], values))]


def statements(text):
    """Declarations of one line, each with its end."""
    out, depth, word = [], 0, ""
    for c in text:
        depth += {"{": 1, "}": -1}.get(c, 0)
        word += c
        if c == ";" and depth == 0 or c == "}" and depth == 0 and not re.match(r"\s*(class|struct)", word):
            out.append(word.strip())
            word = ""
    if word.strip():
        out.append(word.strip() + (";" if re.match(r"\s*(class|struct)", word) else ""))
    return [w for w in out if w != ";"]


def included(path, text, line_text):
    """The declarations of a list that this file includes."""
    defines = "" if line_text.endswith('.inc"') else "\n".join(
        m.group(0) for m in re.finditer(r"^[ ]*#define[ ]+WICK_(?:OR|INPLACE)\((?:[^\n]*\\\n)*[^\n]*", text, re.M))
    run = subprocess.run(["g++", "-E", "-P", "-x", "c++", "-std=c++20", "-I", ROOT, "-"], check=True, text=True,
                         input=f"{defines}\n{line_text}\n", capture_output=True)
    return statements(" ".join(run.stdout.split()))


def see(name):
    """A method calls the function of the same name; an in-place form writes what that of the name without the _ returns."""
    if name.endswith("_"):
        return f" Writes the result of wick::{name[:-1]}() into the tensor's own bytes."
    return f" See wick::{name}()."


class Reading:
    """A header, its declarations, and the comments that document each."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.lines = text.split("\n")
        self.code, self.comments = split_comments(text)
        self.found = declarations(self.code)
        self.scope_starts = {}  # scope -> the line before its first declaration's comments
        for d in self.found:
            self.scope_starts.setdefault(d.scope, -1)
        for k, d in enumerate(self.found):  # the scope of a class's body begins where the class does
            inner = next((e for e in self.found[k + 1:] if e.scope != d.scope), None)
            if d.brace is not None and inner is not None and inner.start <= d.end and inner.scope > d.scope:
                self.scope_starts[inner.scope] = d.start[0]
        self.ignored = set()  # lines of comments for tools
        self.blocks = self.make_blocks()
        self.head = self.head_block()
        self.attach()

    def make_blocks(self):
        """Comments that stand alone, joined where they are below each other; those at the end of a line."""
        blocks, tail = [], None
        for c in self.comments:
            if c.alone and IGNORED.match(c.text.strip()):
                self.ignored.update(range(c.first, c.last + 1))
                continue
            if not c.alone:
                tail = [c]
                blocks.append((False, tail))
            elif tail and tail[-1].last + 1 == c.first and tail[0].column == c.column and not (
                    self.comments_alone_at(c.column, tail)):
                tail.append(c)
            elif blocks and blocks[-1][0] and blocks[-1][1][-1].last + 1 == c.first and (
                    c.text[:3] != " --" or blocks[-1][1][-1].text[:3] == " --"):
                blocks[-1][1].append(c)
                tail = None
            else:
                blocks.append((True, [c]))
                tail = None
        return blocks

    def comments_alone_at(self, column, tail):
        """Whether a comment below one at the end of a line is its own: it stands where declarations stand."""
        line = self.lines[tail[0].first]
        return column == len(line) - len(line.lstrip())

    def head_block(self):
        for alone, block in self.blocks:
            if alone and block[0].first == 0:
                return block
        return None

    def attach(self):
        above = {}
        for alone, block in self.blocks:
            if alone and block is not self.head:
                above[block[-1].last] = block
        group, last, scope_groups, sections = None, None, {}, {}
        headings = []  # (line, what it says), in order
        for alone, block in self.blocks:
            head = heading(lines_of(block), 97 - block[0].column)[0] if alone else []
            if head:
                text = " ".join(head)
                headings.append((block[0].first, head if re.search(r"[:;.(]", text) else None))
        for d in self.found:
            first = d.start[0]
            k = first - 1
            while k in self.ignored:
                k -= 1
            group, last = scope_groups.get(d.scope, (None, None))
            if d.text == "access":
                scope_groups[d.scope] = (None, d.end[0])
                continue
            below = [h for h in headings if h[0] < first]
            if below and below[-1][0] > self.scope_starts.get(d.scope, -1):
                d.section = below[-1][1]
            if k in above:
                lines = heading(lines_of(above[k]), 97 - above[k][0].column)[1]
                group = (above[k], lines, d) if says(lines) else None
            elif last is None or self.parted(last, first):
                group = None
            if group and (group[2] is d or (kind_of(d) == kind_of(group[2]) or MIXED.match(" ".join(group[1]))) and (
                    speaks_of(group[1], name_of(d.text), name_of(group[2].text)))):
                d.docs.append(group[1])
            scope_groups[d.scope] = (group, d.end[0])
            d.group = group if d.docs else None
        for alone, block in self.blocks:
            if alone or not says(lines_of(block)):
                continue
            line, column = block[0].first, block[0].column
            # the declaration that ends before the comment on its line, or whose body opens there
            ending = [d for d in self.found if d.end[0] == line and d.end[1] < column and d.text != "access"]
            opening = [d for d in self.found if d.brace == line]
            inside = [d for d in self.found if d.start[0] <= line <= d.end[0] and d.text != "access"]
            owner = sorted(ending, key=lambda d: d.end)[-1:] or opening[-1:]
            if not owner and inside and all(d.brace is None or d.brace > line for d in inside[-1:]):
                owner = inside[-1:]
            if owner:
                own = owner[0]
                if own.group and own.group[2] is not own and name_of(own.group[2].text) != name_of(own.text):
                    own.docs = own.docs[1:]  # it says what the thing is; the group's comment is about others
                    own.group = None
                own.docs.append(lines_of(block))
        # the values of an enum in one line: its comment
        for k, d in enumerate(self.found):
            if re.match(r"(typedef\s+)?enum\b", d.text.strip()) and d.start[0] == d.end[0]:
                for value in self.found[k + 1:]:
                    if value.start[0] != d.start[0] or value.start > d.end:
                        break
                    value.docs = value.docs or d.docs

    def parted(self, last, first):
        """Whether a blank line or a comment stands between a declaration's end and the next."""
        if first <= last:
            return False
        between = self.lines[last + 1:first]
        return any(not b.strip() or b.lstrip().startswith(("//", "/*", "*")) and not IGNORED.match(b.strip(" /*"))
                   for b in between)

    def output(self):
        """The lines that Doxygen reads."""
        out = list(self.lines)
        known = macros(self.text)
        inserts = {}
        for d in self.found:
            if d.text == "access":
                continue
            if d.text.startswith("extern template") or d.text.startswith("WICK_ATTR_FIELDS"):
                for k in range(d.start[0], d.end[0] + 1):
                    out[k] = ""
                continue
            calls = expansion(d.text, d.start[0], known) if d.text.startswith("WICK_") else None
            if calls is not None:
                row = " ".join(self.block(d.docs + [own for own in [e] if own], "", d.section) + " " + t for e, t in calls)
                out[d.start[0]] = row
                continue
            if d.docs and d.text.startswith("WICK_") and self.text.count("define " + d.text.split("(")[0]):
                continue
            each = declarators(d.text) if d.docs and d.brace is None else []
            if len(each) > 1:  # Doxygen gives the comment to the first one only
                tail = out[d.end[0]][d.end[1] + 1:]
                row = out[d.start[0]][:d.start[1]] + " ".join(self.block(d.docs, "", d.section) + f" {one};" for one in each)
                for k in range(d.start[0], d.end[0] + 1):
                    out[k] = ""
                out[d.start[0]] = row
                out[d.end[0]] += tail
                continue
            if d.docs:
                inserts.setdefault(d.start[0], []).append((d.start[1], self.block(d.docs, "", d.section) + " "))
        for line, parts in inserts.items():
            for column, text in sorted(parts, reverse=True):
                out[line] = out[line][:column] + text + out[line][column:]
        for k, line in enumerate(out):
            if re.match(r'\s*#\s*include ".*\.(def|inc)"', line):
                out[k] = ""
        if self.path in LISTS:
            wanted = LISTS[self.path]
            at = self.lines.index(wanted)
            k, docs = at - 1, []
            for alone, block in self.blocks:
                if alone and block[-1].last == k:
                    docs = [lines_of(block)]
            row = []
            for text in included(self.path, self.text, wanted):
                name = re.search(r"(\w+)\(", text).group(1)
                row.append(self.block(docs, see(name)) + " " + text)
            out[at] = " ".join(row)
        for alone, block in self.blocks:
            below = self.lines[block[-1].last + 1] if block[-1].last + 1 < len(self.lines) else ""
            if alone and block is not self.head and re.match(r"\s*#\s*define\b", below) and says(lines_of(block)):
                for k in range(block[0].first, block[-1].last + 1):
                    out[k] = ""
                out[block[-1].last] = self.block([lines_of(block)], "")
        if self.head and says(lines_of(self.head)):
            text = flat(lines_of(self.head))
            last = self.head[-1].last
            for k in range(last + 1):
                out[k] = ""
            out[0], out[1] = f"/** \\file {self.path}", text + " */"  # line 2 may be #pragma once
        return "\n".join(out)

    def block(self, docs, more, section=None):
        text = " <br> ".join(flat(lines) for lines in docs + ([section] if docs and section else []))
        return f"/** {text}{more} */" if text or more else ""


def main():
    path = os.path.relpath(os.path.abspath(sys.argv[1]), ROOT)
    with open(sys.argv[1], encoding="utf-8") as f:
        text = f.read()
    sys.stdout.write(Reading(path, text).output())


if __name__ == "__main__":
    main()
