#!/usr/bin/env python3
"""Writes the ONNX backend tests that tests/data/onnx/onnx_tests.txt names, from the PyPI package `onnx`.

Usage: make_onnx_tests.py OUTPUT_FOLDER   (scripts/test.sh runs it with build/venv's Python)

Layout: <kind>/<name>/model.onnx, test_data_set_K/input_J.pb and output_J.pb, and tol.json where the test's tolerance
is not rtol 1e-3, atol 1e-7. The `node` tests are built by the package's own Python; the other kinds are files in it.
"""
import hashlib
import json
import shutil
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES = ROOT / "tests" / "data" / "onnx" / "onnx_tests.txt"
DEFAULT_RTOL, DEFAULT_ATOL = 1e-3, 1e-7
# The package's runner compares bfloat16 outputs within two of their units in the last place.
BFLOAT16_RTOL = 2.0**-6


def wanted_names() -> list[tuple[str, str]]:
    names = []
    for line in NAMES.read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            kind, name = line.split("/")
            names.append((kind, name))
    return names


def recipe() -> str:
    """What the output depends on; a stamp with the same text means that nothing is to do."""
    digest = hashlib.sha256()
    for path in (Path(__file__), NAMES, ROOT / "scripts" / "requirements.txt"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def serialized(value, declared) -> bytes:
    """One input or output as the message that its declared type asks for."""
    from onnx import TensorProto, numpy_helper

    if isinstance(value, TensorProto):
        return value.SerializeToString()
    kind = declared.type.WhichOneof("value")
    writers = {
        "tensor_type": numpy_helper.from_array,
        "sequence_type": numpy_helper.from_list,
        "optional_type": numpy_helper.from_optional,
        "map_type": numpy_helper.from_dict,
    }
    if kind not in writers:
        raise ValueError(f"{declared.name} is declared as {kind}, for which the package has no file form")
    return writers[kind](value, declared.name).SerializeToString()


def write_tolerance(folder: Path, model, rtol: float, atol: float) -> None:
    from onnx import TensorProto

    floats = {
        output.type.tensor_type.elem_type
        for output in model.graph.output
        if output.type.tensor_type.elem_type in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
    }
    if floats == {TensorProto.BFLOAT16}:
        rtol = max(rtol, BFLOAT16_RTOL)
    if (rtol, atol) != (DEFAULT_RTOL, DEFAULT_ATOL):
        (folder / "tol.json").write_text(json.dumps({"rtol": rtol, "atol": atol}))


def write_node_test(case, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for index, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{index}"
        data.mkdir()
        for side, values, declared in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for position, value in enumerate(values):
                (data / f"{side}_{position}.pb").write_bytes(serialized(value, declared[position]))
    write_tolerance(folder, case.model, case.rtol, case.atol)


def write_light_test(case, files: Path, folder: Path) -> None:
    """Whole networks without weights of their own: the package's runner makes the inputs, expected outputs are files."""
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.runner import Runner

    source = files / Path(case.url).name
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    shutil.copy(source, folder / "model.onnx")
    model = onnx.load(source)
    weights = {weight.name for weight in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    for position, declared in enumerate(inputs):
        value = Runner.generate_dummy_data(declared, seed=0, name=case.model_name, random=False)
        (data / f"input_{position}.pb").write_bytes(numpy_helper.from_array(value, declared.name).SerializeToString())
    for position in range(len(model.graph.output)):
        shutil.copy(source.with_name(f"{source.stem}_output_{position}.pb"), data / f"output_{position}.pb")
    write_tolerance(folder, model, case.rtol, case.atol)


def write_file_test(case, folder: Path) -> None:
    import onnx

    shutil.copytree(case.model_dir, folder, ignore=shutil.ignore_patterns("data.json", "__init__.py"))
    write_tolerance(folder, onnx.load(folder / "model.onnx"), case.rtol, case.atol)


def write_all(output: Path) -> None:
    import onnx.backend.test
    from onnx.backend.test.case.model import collect_testcases as collect_models
    from onnx.backend.test.case.node import collect_testcases as collect_nodes
    from onnx.backend.test.loader import load_model_tests

    files = Path(onnx.backend.test.__file__).parent / "data"
    cases = {("node", case.name): case for case in collect_nodes()}
    light = {case.name: case for case in collect_models() if case.url}
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        for case in load_model_tests(kind=kind):
            cases[kind, case.name] = case

    absent = []
    for kind, name in wanted_names():
        folder = output / kind / name
        if kind == "light" and name in light:
            write_light_test(light[name], files / "light", folder)
        elif (kind, name) not in cases:
            absent.append(f"{kind}/{name}")
        elif kind == "node":
            write_node_test(cases[kind, name], folder)
        else:
            write_file_test(cases[kind, name], folder)
    if absent:
        raise SystemExit(f"make_onnx_tests: the package has no test {', '.join(absent)}")


def check(output: Path) -> int:
    """Every test of the list must be there, with a model and at least one output to compare with."""
    names = wanted_names()
    bad = [
        f"{kind}/{name}"
        for kind, name in names
        if not (output / kind / name / "model.onnx").is_file() or not list((output / kind / name).glob("test_data_set_*/output_*.pb"))
    ]
    if bad:
        raise SystemExit(f"make_onnx_tests: no model or no expected output in {', '.join(bad)}")
    return len(names)


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("usage: make_onnx_tests.py OUTPUT_FOLDER")
    output = Path(sys.argv[1]).absolute()
    stamp = output / "stamp"
    if stamp.is_file() and stamp.read_text() == recipe():
        return
    # Written aside and renamed, so that an interrupted run leaves nothing that looks whole.
    aside = output.with_name(output.name + ".part")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    warnings.simplefilter("ignore")  # the package computes overflows on purpose
    write_all(aside)
    count = check(aside)
    (aside / "stamp").write_text(recipe())
    shutil.rmtree(output, ignore_errors=True)
    aside.rename(output)
    print(f"onnx tests: wrote {count} folders to {output.relative_to(ROOT) if output.is_relative_to(ROOT) else output}")


main()
