#!/usr/bin/env python3
"""Random cases of every operator in three programs: ours (with the kernels that are chosen, and with the reference kernels alone), onnxruntime
(graph optimisation off), and the reference evaluator of ONNX.

    scripts/differential.py --minutes 20 [--seed S] [--operator OP ...] [--report FILE.json] [--nablascope build/dev/bin/nablascope]
    scripts/differential.py --seed S --case INDEX            one case again, its folder kept

Each case is one node with random version, types, attributes, shapes and values. It counts as

- equal: ours agrees with every peer that ran it (at least one);
- explained: a peer differs, and scripts/differential_known.txt says why that peer is wrong there;
- rounding: a peer differs, and its own answer in double is ours, or moves as far with the last digit of its inputs (differential/rounding.py);
- unexplained: ours differs from a peer, refuses what a peer runs, or ends the process, and nothing says why;
- not run: neither peer runs it (most often a type that they have no kernel for), so nothing is compared.

The seed is printed; the same seed draws the same cases in the same order (how many fit into the time differs). Exit code 1 when something is
unexplained. Not part of CI. Needs the PyPI packages of scripts/requirements_peers.txt.
"""
import argparse
import collections
import json
import pathlib
import secrets
import sys
import tempfile
import threading
import time

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    sys.exit(f"differential.py: {error}; it needs the packages of scripts/requirements_peers.txt (pip install -r scripts/requirements_peers.txt)")

from differential import cases, known
from differential.compare import differ
from differential.families import GENERATORS, NOT_COVERED, schemas_of
from differential.ours import run_ours
from differential.peers import Peers
from differential.rounding import is_rounding

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH = 120
NEWEST = onnx.defs.onnx_opset_version()


def operators():
    """Name -> its versions, oldest first, each with the opsets at which it is current."""
    out = {}
    for name in GENERATORS:
        versions = sorted(schemas_of(name), key=lambda s: s.since_version)
        rows = []
        for i, schema in enumerate(versions):
            until = versions[i + 1].since_version - 1 if i + 1 < len(versions) else NEWEST
            if schema.domain == "com.microsoft":
                rows.append((schema, 17, 21))
            elif not schema.deprecated:
                rows.append((schema, schema.since_version, until))
        out[name] = rows
    return out


def draw(names, table, seed, index):
    """Case `index` of the seed; None when its generator found nothing valid."""
    rng = np.random.default_rng([seed, index])
    name = names[index % len(names)]
    versions = table[name]
    schema, first, last = versions[-1] if rng.random() < 0.5 else versions[int(rng.integers(len(versions)))]
    for _ in range(20):
        gen = cases.Gen(rng, schema, int(rng.integers(first, last + 1)))
        try:
            case = GENERATORS[name](gen)
        except cases.Skip:
            continue
        case.index, case.name = index, name
        return case
    return None


class Verdict:
    def __init__(self, word, text="", kind=""):
        self.word, self.text, self.kind = word, text, kind


def judge(case, ours, peers, table, again):
    """Equal, explained, unexplained, or not run; `again(peer, case)` runs a peer once more."""
    ran = {p: o for p, o in peers.items() if o.ran}
    if ours.crashed:
        return Verdict("unexplained", f"ours {ours.refusal}", "crash")
    if not ran:
        return Verdict("not run", "; ".join(f"{p}: {o.refusal}" for p, o in peers.items()))
    found = {}
    for peer, outcome in ran.items():
        if ours.ran:
            difference = differ(case, outcome.outputs, ours.outputs)
            found[peer] = (difference.kind, difference.text) if difference else None
        else:
            found[peer] = ("refusal", f"ours refuses: {ours.refusal}")
    agrees = {p for p, difference in found.items() if not difference}
    wrong = {p: d for p, d in found.items() if d}
    bad = {p: d for p, d in wrong.items() if not any(known.find(table, who, case, *d, agrees) for who in (p, "ours"))}
    if not bad:
        return Verdict("explained" if wrong else "equal")
    bad = {p: d for p, d in bad.items()
           if d[0] != "value" or not is_rounding(lambda c, peer=p: again(peer, c), case, ours.outputs, ran[p].outputs, case.index)}
    if not bad:
        return Verdict("rounding")
    words = [f"{p}: {text}" for p, (_, text) in bad.items()] + [f"agrees with {p}" for p in sorted(agrees)]
    words += [f"{p} refuses ({o.refusal[:120]})" for p, o in peers.items() if not o.ran]
    return Verdict("unexplained", " | ".join(words), next(iter(bad.values()))[0])


class Run:
    def __init__(self, options):
        self.options = options
        self.versions = operators()
        self.names = [n for n in self.versions if not options.operator or n in options.operator or n.split(".")[-1] in options.operator]
        if not self.names:
            sys.exit(f"differential.py: no generator for {', '.join(options.operator)}")
        self.table = known.read_table()
        self.counts = collections.defaultdict(collections.Counter)
        self.unexplained, self.idle = [], collections.defaultdict(set)
        self.kinds = collections.defaultdict(set)
        self.peers = Peers()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="differential_"))
        self.index = 0

    def batch(self):
        drawn = []
        while len(drawn) < BATCH:
            case = draw(self.names, self.versions, self.options.seed, self.index)
            self.index += 1
            if case:
                drawn.append(case)
        self.compare(drawn)

    def compare(self, drawn):
        results = []
        ours = lambda *options: run_ours(self.options.nablascope, drawn, self.folder / "batch", options)
        worker = threading.Thread(target=lambda: results.extend(zip(ours(), ours("--reference"))))
        worker.start()
        others = [{p: self.peers.run(p, case) for p in (("ort",) if case.domain else ("ort", "ref"))} for case in drawn]
        worker.join()
        if len(results) != len(drawn):
            sys.exit("differential.py: our program gave no results")
        for case, both, peers in zip(drawn, results, others):
            self.count(case, both, peers)

    def count(self, case, both, peers):
        """`both`: ours with the kernels that are chosen, and with the reference kernels alone."""
        verdict, reference = (judge(case, ours, peers, self.table, self.peers.run) for ours in both)
        if reference.word == "unexplained" and verdict.word != "unexplained":
            verdict = Verdict(reference.word, "reference kernels: " + reference.text, reference.kind)
        self.counts[case.name][verdict.word] += 1
        if verdict.word == "not run":
            self.idle[case.name].add(verdict.text)
        elif verdict.word == "equal":
            self.kinds[case.name].add(case.since)
        elif verdict.word == "unexplained":
            self.unexplained.append({"case": case.index, "operator": case.name, "kind": verdict.kind, "what": case.describe(), "text": verdict.text})
            if self.counts[case.name]["unexplained"] <= self.options.show:
                print(f"UNEXPLAINED case {case.index}: {case.describe()}\n    {verdict.text}", flush=True)
            if self.options.keep:
                case.write(pathlib.Path(self.options.keep) / f"{case.op}_{case.index}")

    def report(self):
        words = ("equal", "explained", "rounding", "unexplained", "not run")
        print(f"\n{'operator':<34}{'cases':>7}" + "".join(f"{w:>13}" for w in words) + "  versions compared")
        total = collections.Counter()
        for name in sorted(self.names if self.options.case is None else self.counts, key=str.lower):
            row = self.counts[name]
            total.update(row)
            print(f"{name:<34}{sum(row.values()):>7}" + "".join(f"{row[w]:>13}" for w in words) + "  " + " ".join(map(str, sorted(self.kinds[name]))))
        print(f"{'all':<34}{sum(total.values()):>7}" + "".join(f"{total[w]:>13}" for w in words))
        if self.options.case is not None:
            return total
        print(f"\ncovered: {len(self.names)} operators; not covered: " + ("; ".join(f"{n} ({why})" for n, why in sorted(NOT_COVERED.items())) or "none"))
        nothing = [n for n in self.names if self.counts[n]["not run"] == sum(self.counts[n].values())]
        if nothing:
            print("no case that a peer runs: " + ", ".join(nothing))
        print(f"known faults met: {sum(1 for e in self.table if e.used)} of {len(self.table)} listed")
        return total

    def save(self, path, total):
        data = {"schema": 1, "seed": self.options.seed, "onnxruntime": onnxruntime.__version__, "onnx": onnx.__version__, "cases": dict(total),
                "operators": {n: dict(self.counts[n]) for n in self.names}, "unexplained": self.unexplained,
                "known": [{"line": e.number, "peer": e.peer, "operators": sorted(e.operators), "reason": e.reason, "used": e.used} for e in self.table],
                "not_run": {n: sorted(t)[:5] for n, t in self.idle.items()}, "not_covered": NOT_COVERED}
        pathlib.Path(path).write_text(json.dumps(data, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--operator", action="append", default=[])
    parser.add_argument("--report")
    parser.add_argument("--nablascope", default=str(ROOT / "build/dev/bin/nablascope"))
    parser.add_argument("--case", type=int, help="only this case of the seed")
    parser.add_argument("--keep", help="write the folders of unexplained cases into this folder")
    parser.add_argument("--show", type=int, default=3, help="unexplained cases printed per operator")
    options = parser.parse_args()
    if not pathlib.Path(options.nablascope).exists():
        sys.exit(f"differential.py: {options.nablascope} is not there; build it, or say --nablascope")
    if options.seed is None:
        options.seed = secrets.randbelow(2**31)
    run = Run(options)
    print(f"seed {options.seed}, onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}, {len(run.names)} operators", flush=True)
    if options.case is not None:
        case = draw(run.names, run.versions, options.seed, options.case)
        case.write(run.folder / "kept")
        print(case.describe(), "\nfolder:", run.folder / "kept")
        run.compare([case])
        print(dict(run.counts[case.name]), *run.idle[case.name])
    else:
        end = time.monotonic() + 60 * options.minutes
        while time.monotonic() < end:
            run.batch()
    run.peers.stop()
    total = run.report()
    if options.report:
        run.save(options.report, total)
    sys.exit(1 if total["unexplained"] else 0)


if __name__ == "__main__":
    main()
