"""The list of families: which generator draws which operator, and which operators have none."""
import onnx

from . import contrib, control, elementwise, linear, movement, quantized, reduction, sequences, signal, spatial

FAMILIES = (elementwise, movement, reduction, linear, spatial, quantized, signal, sequences, control, contrib)

GENERATORS = {name: generator for family in FAMILIES for name, generator in family.GENERATORS.items()}


def schemas_of(name):
    """All versions of `Op`, or of `com.microsoft.Op`."""
    if name.startswith("com.microsoft."):
        return contrib.schemas_of(name.split(".")[-1])
    return [s for s in onnx.defs.get_all_schemas_with_history() if s.name == name and s.domain == ""]


def not_covered():
    out = {}
    reasons = {name: why for family in FAMILIES for name, why in getattr(family, "NOT_COVERED", {}).items()}
    for schema in onnx.defs.get_all_schemas():
        if schema.domain == "" and schema.name not in GENERATORS:
            out[schema.name] = reasons.get(schema.name, "no generator")
    out.update({n: why for n, why in reasons.items() if n.startswith("com.microsoft.")})
    return out


NOT_COVERED = not_covered()
