#!/usr/bin/env python3
"""abi.py LIBRARY [--update]: is the C library's binary interface what core/abi.txt says?

Functions with the types of their arguments, structs with the place and size of their
members, enums with their values, as the shared library's debug information has them and
abidw tells them. What changes here, programs that were built before notice; --update writes
the list. Skipped (77) without abidw or without debug information.
"""

from __future__ import annotations

import difflib
import pathlib
import shutil
import subprocess
import sys
from xml.etree import ElementTree

LIST = pathlib.Path("core/abi.txt")
SKIPPED = 77
UNKNOWN = "is of no known type"
KINDS = {"class-decl": "struct", "union-decl": "union", "enum-decl": "enum"}
HEAD = """\
# The binary interface of libllmprof.so on machines of 64 bits, kept by tests/lint/abi.py:
# functions; structs with their bytes, and where in them a member begins; enums.
"""


class Corpus:
    """What abidw wrote, types by their id."""

    def __init__(self, xml: str) -> None:
        self.root = ElementTree.fromstring(xml)
        self.types: dict[str, ElementTree.Element] = {}
        for element in self.root.iter():
            known = self.types.get(element.get("id", ""))
            if "id" in element.attrib and (known is None or declared_only(known)):
                self.types[element.attrib["id"]] = element

    def spelled(self, number: str) -> str:
        """A type as C writes it, near enough to tell it from others."""
        kind = self.types[number]
        if kind.tag == "pointer-type-def":
            to = self.types[kind.attrib["type-id"]]
            mark = " " if to.tag == "function-type" else "*"
            return (self.spelled(kind.attrib["type-id"]) + mark).strip()
        if kind.tag == "qualified-type-def":
            return self.spelled(kind.attrib["type-id"]) + " const"
        if kind.tag == "array-type-def":
            counts = "".join(f"[{one.get('length')}]" for one in kind.iter("subrange"))
            return self.spelled(kind.attrib["type-id"]) + counts
        if kind.tag == "function-type":
            return self.function(kind)
        if kind.get("is-anonymous") == "yes":
            return "{" + "; ".join(self.members(kind)) + "}"
        return kind.attrib["name"]

    def function(self, function: ElementTree.Element) -> str:
        words = [
            "..." if one.get("is-variadic") else self.spelled(one.attrib["type-id"])
            for one in function.iter("parameter")
        ]
        back = function.find("return")
        assert back is not None
        return f"({', '.join(words)}) -> {self.spelled(back.attrib['type-id'])}"

    def members(self, kind: ElementTree.Element) -> list[str]:
        lines = []
        for member in kind.findall("data-member"):
            place = member.get("layout-offset-in-bits", "0")
            (one,) = member.iter("var-decl")
            name, what = one.get("name", ""), self.spelled(one.attrib["type-id"])
            lines.append(f"{byte(place)} {name}: {what}")
        for one in kind.iter("enumerator"):
            lines.append(f"{one.get('name')} = {one.get('value')}")
        return lines

    def functions(self) -> set[str | None]:
        return {one.get("name") for one in self.root.iter("function-decl")}

    def lines(self) -> list[str]:
        # By name: abidw ties no function to its symbol that was put into others as well.
        symbols = [one for one in self.root.iter("elf-symbol") if one.get("is-defined") == "yes"]
        exported = {one.get("name") for one in symbols}
        entries = {f"{name} {UNKNOWN}\n" for name in exported - self.functions()}
        for one in self.root.iter("function-decl"):
            if one.get("name") in exported:
                entries.add(f"{one.get('name')}{self.function(one)}\n")
        for one in self.types.values():
            name = one.get("name", "")
            if one.tag in KINDS and named(name, one):
                bits = one.get("size-in-bits") if one.tag != "enum-decl" else None
                size = f", {byte(bits)} bytes" if bits else ""
                inside = "".join(f"  {line}\n" for line in self.members(one))
                entries.add(f"{KINDS[one.tag]} {name}{size}\n{inside}")
        return "".join(sorted(entries)).splitlines(keepends=True)


def declared_only(element: ElementTree.Element) -> bool:
    return element.get("is-declaration-only") == "yes"


def named(name: str, element: ElementTree.Element) -> bool:
    ours = name.startswith("llmprof_") and element.get("is-anonymous") != "yes"
    return ours and not declared_only(element)


def byte(bits: str) -> str:
    whole, rest = divmod(int(bits), 8)
    return f"{whole}.{rest}" if rest else str(whole)


def told(library: str) -> list[str]:
    done = subprocess.run(
        ["abidw", "--headers-dir", "include/llmprof", "--drop-private-types", library],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return [HEAD, *Corpus(done.stdout).lines()]


def as_listed(lines: list[str], listed: list[str]) -> list[str]:
    """Of functions with the same code the compiler keeps one, and what it knows of the
    others' types is gone: these are as they are listed."""
    known = {line.split("(")[0]: line for line in listed if "(" in line}
    return [known.get(line.split(" ")[0], line) if UNKNOWN in line else line for line in lines]


def main(library: str, update: bool) -> int:
    if not shutil.which("abidw"):
        print("skipped: no abidw (Debian: abigail-tools)")
        return SKIPPED
    lines = told(library)
    if not any(line.startswith("struct ") for line in lines):
        print("skipped: no debug information in", library)
        return SKIPPED
    listed = LIST.read_text().splitlines(keepends=True) if LIST.exists() else []
    text = "".join(as_listed(lines, listed))
    if update:
        LIST.write_text(text)
        return 0
    changes = difflib.unified_diff(
        LIST.read_text().splitlines(), text.splitlines(), str(LIST), library, lineterm="", n=1
    )
    found = "\n".join(changes)
    if found:
        print(found)
        print(f"programs that were built before notice this: tests/lint/abi.py {library} --update")
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("usage: abi.py LIBRARY [--update]")
    sys.exit(main(sys.argv[1], "--update" in sys.argv[2:]))
