#!/usr/bin/env python3
"""Reads every #include of app/, engine/, profiler/ and views/ and fails on one that the layers forbid.

Usage: layering.py ROOT [--widgets FOLDER]   the tree; FOLDER holds the headers of Qt Widgets
       layering.py --self-check [--widgets FOLDER]   made-up files: every forbidden include must be found, no allowed one
"""
import argparse
import re
import sys
import tempfile
from pathlib import Path

import rules

TOP_FOLDERS = ("app", "engine", "profiler", "views")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def problems_of_include(path: str, name: str, beside: bool, widgets: set[str]) -> list[str]:
    """What is wrong with one include; `path` is relative to the root, `beside`: the name is that of a file beside it."""
    if name.split("/")[0] in TOP_FOLDERS and "/" in name:
        if rules.may_include(path, name):
            return []
        return [f"{rules.folder_of(path)} may not include {rules.folder_of(name)}"]
    found = []
    if beside:
        found.append("a file of the project is included by its full path")
    if rules.QT.match(name):
        if rules.without_qt(path):
            found.append("no Qt here")
        if rules.without_widgets(path) and (name.startswith("QtWidgets/") or name.split("/")[-1] in widgets):
            found.append("no Qt Widgets in the command line")
    for library, pattern, folders in rules.LIBRARIES:
        if pattern.match(name) and not path.startswith(tuple(folders)):
            found.append(f"{library} belongs to {', '.join(folders)}")
    return found


def problems_of_tree(root: Path, widgets: set[str]) -> tuple[list[str], int, int]:
    """The problems, the files read and the includes read."""
    found, files, includes = [], 0, 0
    for top in TOP_FOLDERS:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".h", ".cpp", ".inc", ".cu"):
                continue
            files += 1
            path = file.relative_to(root).as_posix()
            text = BLOCK_COMMENT.sub(lambda match: "\n" * match.group().count("\n"), file.read_text(errors="replace"))
            for match in INCLUDE.finditer(text):
                includes += 1
                name = match.group(1) or match.group(2)
                line = text.count("\n", 0, match.start()) + 1
                for problem in problems_of_include(path, name, match.group(1) is not None and (file.parent / name).is_file(), widgets):
                    found.append(f"{path}:{line}: {name}: {problem}")
    return found, files, includes


# (file, include line, what the message must say; None: allowed)
MADE_UP = [
    ("engine/base/a.h", '#include "engine/graph/graph.h"', "engine/base may not include engine/graph"),
    ("engine/graph/a.h", '#include "engine/ops/op_def.h"', "engine/graph may not include engine/ops"),
    ("engine/passes/a.cpp", '#include "engine/plan/plan.h"', "engine/passes may not include engine/plan"),
    ("engine/importers/onnx/a.cpp", '#include "engine/runtime/session.h"', "may not include engine/runtime"),
    ("engine/plan/a.cpp", '#include "profiler/store/rows.h"', "may not include profiler/store"),
    ("engine/ops/a.cpp", '#include "views/theme/theme.h"', "may not include views/theme"),
    ("engine/unheard/a.h", '#include "engine/base/error.h"', "engine/unheard may not include engine/base"),
    ("engine/ops/b.cpp", "#include <QString>", "no Qt here"),
    ("profiler/cpu/a.cpp", "#include <QtCore/QFile>", "no Qt here"),
    ("views/layout/a.cpp", "  #  include <QPointF>", "no Qt here"),
    ("views/outline/outline_view_model.h", "#include <QAbstractItemModel>", "no Qt here"),
    ("engine/graph/b.cpp", "#include <onnx/defs/schema.h>", "ONNX's C++ library belongs to engine/schema/"),
    ("engine/graph/c.cpp", '#include "onnx/onnx_pb.h"', "ONNX's C++ library belongs to engine/schema/"),
    ("engine/ops/c.cpp", "#include <dnnl.hpp>", "oneDNN belongs to engine/kernels/"),
    ("engine/ops/d.cpp", "#include <oneapi/dnnl/dnnl.hpp>", "oneDNN belongs to engine/kernels/"),
    ("profiler/analysis/a.cpp", "#include <sqlite3.h>", "SQLite belongs to profiler/store/"),
    ("views/canvas/a.cpp", "#include <graphviz/gvc.h>", "Graphviz belongs to views/layout/worker/"),
    ("profiler/store/a.cpp", '#include "engine/events/clock.h"', "profiler/store may not include engine/events"),
    ("profiler/traces/a.cpp", '#include "profiler/cpu/cpu_recorder.h"', "may not include profiler/cpu"),
    ("views/timeline/a.cpp", '#include "engine/runtime/session.h"', "views/timeline may not include engine/runtime"),
    ("views/timeline/b.cpp", '#include "engine/importers/importer.h"', "may not include engine/importers"),
    ("views/timeline/c.cpp", '#include "views/outline/outline_view.h"', "may not include views/outline"),
    ("views/timeline/d.cpp", '#include "app/document/document.h"', "may not include app/document"),
    ("views/timeline/e.cpp", '#include "a.cpp"', "by its full path"),
    ("app/cli/a.cpp", "#include <QtWidgets/QLabel>", "no Qt Widgets in the command line"),
    ("app/cli/b.cpp", "#include <QApplication>", "no Qt Widgets in the command line"),
    ("app/jobs/a.cpp", "#include <CLI/CLI.hpp>", "CLI11 belongs to app/cli/"),
    ("engine/runtime/a.cpp", '#include "engine/base/error.h"', None),
    ("engine/runtime/b.cpp", '#include "engine/schema/schema.h"', None),
    ("engine/base/b.cpp", '// #include "engine/graph/graph.h"', None),
    ("engine/base/c.cpp", '/*\n#include "engine/graph/graph.h"\n*/', None),
    ("engine/base/d.cpp", "#include <quadmath.h>\n#include <vector>", None),
    ("engine/schema/a.cpp", '#include <onnx/defs/schema.h>\n#include "onnx/onnx_pb.h"', None),
    ("profiler/cpu/b.cpp", '#include "engine/events/clock.h"', None),
    ("views/timeline/f.cpp", '#include <QWidget>\n#include "profiler/store/recording.h"\n#include "views/canvas/plain_text.h"', None),
    ("views/registry.cpp", '#include "views/timeline/timeline_view.h"', None),
    ("app/main_window/a.cpp", '#include <QMainWindow>\n#include "engine/runtime/session.h"', None),
    ("app/cli/c.cpp", '#include <QImage>\n#include <CLI/CLI.hpp>', None),
]


def self_check(widgets: set[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text, _ in MADE_UP:
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"// A made-up file.\n{text}\n")
        found, files, _ = problems_of_tree(root, widgets)
    wrong = []
    for path, text, expected in MADE_UP:
        said = [problem for problem in found if problem.startswith(f"{path}:")]
        if expected is None and said:
            wrong.append(f"allowed, but: {said}")
        if expected is not None and not any(expected in problem for problem in said):
            wrong.append(f"not found: {path}: {text}")
    if wrong or files != len(MADE_UP):
        sys.exit("layering: the check itself is wrong:\n" + "\n".join(wrong))
    print(f"layering: {sum(1 for case in MADE_UP if case[2])} made-up includes refused, the allowed ones pass")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("root", nargs="?", type=Path)
    parser.add_argument("--self-check", action="store_true")
    parser.add_argument("--widgets", type=Path, help="folder with the headers of Qt Widgets")
    arguments = parser.parse_args()
    widgets = {header.name for header in arguments.widgets.iterdir()} if arguments.widgets else set()
    if arguments.self_check:
        self_check(widgets)
        return
    if arguments.root is None:
        parser.error("ROOT is missing")
    found, files, includes = problems_of_tree(arguments.root, widgets)
    if not files:
        sys.exit(f"layering: no source files in {arguments.root}")
    if found:
        sys.exit("\n".join(found) + f"\nlayering: {len(found)} forbidden includes; the rules are in tests/layering/rules.py")
    print(f"layering: {includes} includes in {files} files keep the layers")


main()
