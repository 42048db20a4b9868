#!/usr/bin/env python3
"""Writes docs/operators.md: every operator of engine/ops with its version and how it is differentiated.

Usage: operator_table.py           writes the table
       operator_table.py --check   fails when the table is not what the rows say
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "operators.md"
ROW = re.compile(r'\{\.name = "(\w+)",(.*?)(?=\{\.name = "|\n\};)', re.DOTALL)
# Operators of onnxruntime: `row<writeName>("Name")`, with a domain or a gradient behind the name where it is not the file's usual one.
SHORT_ROW = re.compile(r'^    row<\w+>\("(\w+)"(?:, ([^\n]*?))?\),$', re.MULTILINE)
CONSTANT = re.compile(r'constexpr (?:GradientRule|std::string_view|auto) (k\w+)\s*=\s*(notDifferentiable\(.*?\)|".*?")\s*;', re.DOTALL)


def families() -> list[str]:
    """Source files of the families that registry.cpp lists, in its order."""
    names = re.findall(r"^\s*FAMILY\((\w+)\)", (ROOT / "engine/ops/registry.cpp").read_text(), re.MULTILINE)
    sources = {path: path.read_text() for path in sorted((ROOT / "engine/ops").rglob("*.cpp"))}
    found = []
    for name in names:
        homes = [path for path, text in sources.items() if re.search(rf"std::span<const OpDef> {name}\(\) \{{", text)]
        if len(homes) != 1:
            sys.exit(f"operator_table: {name} of registry.cpp is defined in {len(homes)} files")
        found.append(homes[0])
    return found


def gradient(row: str, constants: dict[str, str], where: str) -> str:
    match = re.search(r'\.gradient = (notDifferentiable\("[^"]*"\)|notDifferentiable\(\w+\)|throughBody\(\)|[\w<>]+)', row)
    if not match:
        sys.exit(f"operator_table: {where} has no .gradient that this script can read")
    text = match.group(1)
    text = constants.get(text, text)
    if text == "throughBody()":
        return "through its body"
    if text.startswith("notDifferentiable("):
        reason = text[len("notDifferentiable("):-1]
        reason = constants.get(reason, reason)
        if not reason.startswith('"'):
            sys.exit(f"operator_table: {where}: the reason {reason} is not a constant of the file")
        return f"none: {reason.strip(chr(34))}"
    return "rule"


def short_row(text: str, extra: str) -> str:
    """The fields of a short row written out, from the function `row` of its file."""
    usual = re.search(r"GradientRule gradient = (.*?)\) \{", text)
    gradient_text = extra if extra and not extra.startswith('"') else usual.group(1) if usual else "throughBody()"
    domain = "" if extra == '""' else '.domain = "com.microsoft", '
    return f"{domain}.since = 1, .gradient = {gradient_text}"


def rows() -> list[tuple[str, str, str, str, str]]:
    found = []
    for path in families():
        text = path.read_text()
        constants = dict(CONSTANT.findall(text))
        table, short = ROW.findall(text), SHORT_ROW.findall(text)
        if len(table) != text.count('{.name = "') or len(short) != text.count("\n    row<") or not table + short:
            sys.exit(f"operator_table: {path.name} has rows that this script cannot read")
        for name, row in table + [(name, short_row(text, extra)) for name, extra in short]:
            domain = re.search(r'\.domain = "([^"]+)"', row)
            since = re.search(r"\.since = (\d+)", row)
            if not since:
                sys.exit(f"operator_table: {path.name}: {name} has no .since")
            found.append((name, domain.group(1) if domain else "", since.group(1), gradient(row, constants, f"{path.name}: {name}"), path.relative_to(ROOT / "engine/ops").as_posix()))
    return sorted(found, key=lambda row: (row[1], row[0]))


def page() -> str:
    table = rows()
    lines = [
        "# Operators",
        "",
        f"{len(table)} operators run. Written by `scripts/operator_table.py` from the rows of `engine/ops/`. Models of older opsets are lifted to the",
        "versions named here when they are run; any other operator opens, shows, compares and exports.",
        "",
        "| operator | version | gradient | file in `engine/ops/` |",
        "|---|---|---|---|",
    ]
    lines += [f"| {domain + '.' if domain else ''}{name} | {since} | {how} | `{file}` |" for name, domain, since, how, file in table]
    return "\n".join(lines) + "\n"


def main() -> None:
    text = page()
    if sys.argv[1:] == ["--check"]:
        if not TABLE.exists() or TABLE.read_text() != text:
            sys.exit("operator_table: docs/operators.md is not what engine/ops says; run scripts/operator_table.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        TABLE.write_text(text)


if __name__ == "__main__":
    main()
