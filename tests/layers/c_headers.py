"""Reads what headers declare: the public members of C++ classes, and the functions, structs and constants of C. It knows the
style of this tree's public headers and no more of the languages."""

import re

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
ACCESS = re.compile(r"\s*(public|private|protected)\s*:(?!:)")
NESTED = re.compile(r"\s*(?:template\s*<[^{;]*>\s*)?(struct|class|enum(?:\s+class)?|union)\s+(?:\[\[\w+\]\]\s*)?(\w+(?:::\w+)*)")


def plain(text):
    return PREPROCESSOR.sub("", COMMENT.sub(" ", text))


def closing(text, at):
    """The position behind the bracket that closes the one at `at`."""
    pairs, depth = {"{": "}", "(": ")", "[": "]"}, []
    for i in range(at, len(text)):
        if text[i] in pairs:
            depth.append(pairs[text[i]])
        elif depth and text[i] == depth[-1]:
            depth.pop()
            if not depth:
                return i + 1
    return len(text)


def statements(body):
    """(the text of each declaration in a class's body, that of its braces or None)."""
    at, start = 0, 0
    while at < len(body):
        label = ACCESS.match(body, at) if at == start else None
        if label:
            yield label.group(1) + ":", None
            at = start = label.end()
        elif body[at] == "(":
            at = closing(body, at)
        elif body[at] == "{":
            head, end = body[start:at], closing(body, at)
            nested = NESTED.match(head)
            # Braces behind a name or an "=" are a value; behind a list of parameters, a function's body.
            function = ")" in head and not re.search(r"=\s*$", head)
            if not nested and not function:
                at = end
                continue
            yield head, body[at + 1:end - 1]
            at = start = end
            rest = re.match(r"\s*;", body[at:]) if not function or nested else None
            if rest:
                at = start = at + rest.end()
        elif body[at] == ";":
            yield body[start:at], None
            at = start = at + 1
        else:
            at += 1


def names_of(declaration):
    """The names that a declaration declares: one function, or the fields of a type."""
    text = re.sub(r"^\s*template\s*<.*?>\s*(?=\w)", "", declaration.strip(), flags=re.S)
    text = re.sub(r"\balignas\([^)]*\)\s*", "", text)
    pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", text)
    if pointer:
        return [pointer.group(1)]
    if re.match(r"(friend|using|static_assert|WICK_)\b", text) or not text:
        return []
    while re.search(r"<[^<>]*>", text):
        text = re.sub(r"<[^<>]*>", " ", text)
    if "(" in text:
        name = re.search(r"(operator\b.*?|~?\w+)\s*\(", text, re.S)
        return [name.group(1)] if name else []
    found = []
    for part in re.sub(r"\{[^{}]*\}|=[^,]*", "", text).split(","):
        name = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?::\s*\d+\s*)?$", part)
        if name:
            found.append(name.group(1))
    return found


def enumerators(body):
    """{name: value} of an enum's body."""
    found, value = {}, -1
    for part in body.split(","):
        one = re.match(r"\s*(\w+)\s*(?:=\s*(.*?))?\s*$", part, re.S)
        if not one:
            continue
        given = one.group(2)
        value = value + 1 if given is None else int(given, 0) if re.fullmatch(r"-?\w+", given) else None
        found[one.group(1)] = value
        value = -1 if value is None else value
    return found


def members(name, kind, body):
    """The public members of a class: "Name::member", those of nested types as "Name::Type::member"."""
    public, found = kind != "class", []
    for head, braces in statements(body):
        if head.endswith(":") and head[:-1] in ("public", "private", "protected"):
            public = head == "public:"
            continue
        nested = NESTED.match(head)
        if not public:
            continue
        if nested and braces is not None:
            if not nested.group(1).startswith("enum"):
                found += members(f"{name}::{nested.group(2)}", nested.group(1), braces)
            continue
        if nested and "(" not in head and not re.search(r"\w\s+\w+\s+\w|[*&]", head.strip()):
            continue  # a forward declaration
        for each in names_of(head):
            own = name.split("::")[-1]
            if each.strip("~") != own and not each.startswith("operator"):
                found.append(f"{name}::{each}")
    return list(dict.fromkeys(found))


def classes(text):
    """{class: its public members} of a header's name spaces, and {enum: its enumerators}."""
    text, found, enums = plain(text), {}, {}
    at = 0
    while True:
        opened = re.compile(r"^((?:template\s*<[^{;]*>\s*)?(?:struct|class|enum(?:\s+class)?)\s[^;{()]*)\{", re.M).search(text, at)
        if not opened:
            return found, enums
        end = closing(text, opened.end() - 1)
        head = NESTED.match(opened.group(1))
        body = text[opened.end():end - 1]
        at = end
        if head is None or re.search(r"\bstruct\s+\w+\s*<", opened.group(1)):
            continue
        if head.group(1).startswith("enum"):
            enums[head.group(2)] = enumerators(body)
        else:
            found[head.group(2)] = members(head.group(2), head.group(1), body)


class CHeaders:
    """The C functions {name: declaration}, structs {name: [field declarations]}, constants {name: value}, other types, and the
    names of functions that lack WICK_API."""

    def __init__(self, texts):
        self.functions, self.structs, self.constants, self.types, self.bare = {}, {}, {}, set(), []
        for text in texts:
            self.read(plain(text))

    def read(self, text):
        text = re.sub(r'extern "C" \{', "", text)
        for body in re.findall(r"\benum\s*\w*\s*\{(.*?)\}", text, re.S):
            self.constants.update(enumerators(body))
        for name, body in re.findall(r"\bstruct\s+(wick_\w+)\s*\{(.*?)\n\}", text, re.S):
            self.structs[name] = [" ".join(f.split()) for f in body.split(";") if f.strip()]
        outside = re.sub(r"\{[^{}]*\}", "{}", text)
        self.types.update(re.findall(r"\btypedef\s+(?:struct|enum)\s+\w+(?:\s*\{\})?\s*(wick_\w+);", outside))
        self.types.update(re.findall(r"\btypedef[^;]*\(\*(wick_\w+)\)", outside))
        for declaration in re.findall(r"(?:^|(?<=;))\s*([\w* \n]*?\bwick_\w+\s*\([^;{}]*\))\s*;", outside):
            one = " ".join(declaration.split())
            if one.startswith("typedef"):
                continue
            name = re.search(r"(wick_\w+)\s*\(", one).group(1)
            if not one.startswith("WICK_API "):
                self.bare.append(name)
            self.functions[name] = one.removeprefix("WICK_API ")

    def fields(self, struct):
        return [name for each in self.structs.get(struct, []) for name in names_of(each)]

    def has(self, name):
        struct, _, field = name.partition(".")
        if field:
            return field in self.fields(struct)
        return name in self.functions or name in self.structs or name in self.constants or name in self.types
