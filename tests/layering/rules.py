"""Which folder may include which, and which library's headers belong to which folder: the diagram of the source tree as data."""
import re

# folder -> what it may include beside itself. A folder may also include what those may include.
ENGINE = {
    "engine/base": [],
    "engine/tensor": ["engine/base"],
    "engine/graph": ["engine/tensor"],
    "engine/schema": ["engine/graph"],
    "engine/ops": ["engine/schema"],
    "engine/analysis": ["engine/ops"],
    "engine/autodiff": ["engine/analysis"],
    "engine/passes": ["engine/autodiff"],
    "engine/importers": ["engine/ops"],
    "engine/exporters": ["engine/ops"],
    "engine/events": ["engine/base"],
    "engine/kernels": ["engine/ops"],
    "engine/plan": ["engine/analysis", "engine/kernels"],
    "engine/runtime": ["engine/plan", "engine/events"],
    "engine/cuda": ["engine/runtime"],
    "engine/training": ["engine/autodiff", "engine/runtime"],
}
PROFILER = {
    "profiler/store": ["engine/base"],
    "profiler/cpu": ["engine/events", "profiler/store"],
    "profiler/cupti": ["engine/events", "profiler/store"],
    "profiler/traces": ["profiler/store"],
    "profiler/analysis": ["profiler/store"],
}
# A view reads values: graphs, analyses, what a pass recorded, plans, recordings. It never imports, runs or records, so
# these folders are listed one by one and bring nothing else along.
VIEW_VALUES = [
    "engine/base", "engine/tensor", "engine/graph", "engine/schema", "engine/ops", "engine/analysis", "engine/autodiff",
    "engine/passes", "engine/plan", "engine/events", "profiler/store", "profiler/analysis",
]
# views/graph turns an engine graph into scenes, scopes and card texts: every view that names nodes needs the same words.
VIEW_SHARED = ["views/layout", "views/canvas", "views/theme", "views/graph"]


def closure(table: dict[str, list[str]]) -> dict[str, set[str]]:
    reached: dict[str, set[str]] = {}

    def visit(folder: str) -> set[str]:
        if folder not in reached:
            reached[folder] = {folder}.union(*(visit(next_folder) for next_folder in table[folder]))
        return reached[folder]

    for folder in table:
        visit(folder)
    return reached


ALLOWED = closure(ENGINE | PROFILER)
ALLOWED["views/layout"] = {"views/layout", "engine/base"}
ALLOWED["views/theme"] = {"views/theme", "engine/base"}
ALLOWED["views/canvas"] = {"views/layout", "views/canvas", "views/theme", *VIEW_VALUES}
FREE = ("app",)  # composes everything


def folder_of(path: str) -> str:
    """The second-level folder, `views` or `app` for a file that lies directly there (registry.cpp, main.cpp)."""
    parts = path.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def may_include(path: str, included: str) -> bool:
    here, there = folder_of(path), folder_of(included)
    if here.split("/")[0] in FREE or here == there:
        return True
    if here == "views":  # the list of views
        return there.startswith("views/") or there in VIEW_VALUES
    if here in ALLOWED:
        return there in ALLOWED[here]
    if here.startswith("views/"):  # one view: never another one
        return there == "views" or there in VIEW_SHARED or there in VIEW_VALUES
    return False  # a folder that the tables do not know: it has to be added there


# header pattern -> the folders (prefixes of a path) that may include it
LIBRARIES = [
    ("ONNX's C++ library", re.compile(r"^onnx/"), ["engine/schema/"]),
    ("libprotobuf", re.compile(r"^google/protobuf/"), ["engine/schema/"]),
    ("protozero", re.compile(r"^protozero/"), ["engine/importers/", "engine/exporters/", "engine/schema/onnx_file/"]),
    ("oneDNN", re.compile(r"^(oneapi/dnnl/|dnnl)"), ["engine/kernels/"]),
    ("RE2", re.compile(r"^re2/"), ["engine/ops/"]),
    ("ICU", re.compile(r"^unicode/"), ["engine/ops/"]),
    ("Highway", re.compile(r"^hwy/"), ["engine/kernels/"]),
    ("SQLite", re.compile(r"^sqlite3(ext)?\.h$"), ["profiler/store/"]),
    ("Graphviz", re.compile(r"^(graphviz/|gvc\.h$|cgraph\.h$|gvplugin)"), ["views/layout/worker/"]),
    ("CUDA", re.compile(r"^(cuda|nvrtc|cublas|cudnn|nccl)[A-Za-z_0-9]*\.h$"), ["engine/cuda/", "profiler/cupti/"]),
    ("CUPTI", re.compile(r"^cupti[A-Za-z_0-9]*\.h$"), ["profiler/cupti/"]),
    ("CLI11", re.compile(r"^CLI/"), ["app/cli/", "app/main.cpp"]),
]
QT = re.compile(r"^(Qt\w+/|Q[A-Z]\w*$|q(?!uadmath)[a-z]\w*\.h$)")


def without_qt(path: str) -> bool:
    return path.startswith(("engine/", "profiler/", "views/layout/")) or "_view_model." in path


def without_widgets(path: str) -> bool:
    return path.startswith("app/cli/")
