#!/usr/bin/env python3
"""Writes tests/data/ml: models of ai.onnx.ml and of the string operators with the outputs of onnxruntime.

Needs, beside scripts/requirements.txt, `pip install onnxruntime scikit-learn skl2onnx`. The folders have the layout of ONNX's backend tests.
Random numbers come from fixed seeds; a case that onnxruntime cannot run is an error here, not left out.
"""
import pathlib
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from sklearn import datasets, ensemble, linear_model, pipeline, preprocessing, svm
from skl2onnx import to_onnx

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "ml"
F32, F64, I64, I32, STR = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32, TensorProto.STRING
rng = np.random.default_rng(20)


def tensor(a):
    return numpy_helper.from_array(np.asarray(a))


def map_proto(d):
    keys = list(d)
    m = onnx.MapProto()
    values = onnx.SequenceProto(elem_type=onnx.SequenceProto.TENSOR)
    if keys and isinstance(keys[0], str):
        m.key_type = STR
        m.string_keys.extend(k.encode() for k in keys)
    else:
        m.key_type = I64
        m.keys.extend(int(k) for k in keys)
    for v in d.values():
        a = np.array(v, dtype=object) if isinstance(v, str) else np.array(v, dtype=np.int64 if isinstance(v, int) else np.float32)
        values.tensor_values.append(numpy_helper.from_array(a))
    m.values.CopyFrom(values)
    return m


def message(v):
    if isinstance(v, dict):
        return map_proto(v)
    if isinstance(v, list):
        s = onnx.SequenceProto(elem_type=onnx.SequenceProto.MAP)
        s.map_values.extend(map_proto(d) for d in v)
        return s
    return tensor(v)


def store(name, model, inputs, judged=None):
    """`judged`: the model that onnxruntime runs, where it reads an attribute otherwise than the standard has it."""
    model = helper.make_model(model, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=9) if isinstance(model, onnx.GraphProto) else model
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession((judged or model).SerializeToString(), options)
    outputs = session.run(None, {i.name: x for i, x in zip(session.get_inputs(), inputs)})
    folder = OUT / name
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    model.producer_name = model.doc_string = ""
    if "probit" in name:  # near 0 the formula cancels, and onnxruntime computes it in float32
        (folder / "tol.json").write_text('{"rtol": 1e-3, "atol": 2e-3}\n')
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, values in (("input", inputs), ("output", outputs)):
        for k, v in enumerate(values):
            (data / f"{kind}_{k}.pb").write_bytes(message(v).SerializeToString())


def type_of(a):
    if a.dtype == object:
        return STR
    return helper.np_dtype_to_tensor_dtype(a.dtype)


def map_type(key, value):
    return helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, []))


def one(name, op, inputs, outputs, domain="ai.onnx.ml", version=3, in_types=None, judged=None, **attributes):
    """One node; outputs are element types, or whole TypeProtos."""
    ins = [helper.make_value_info(f"x{i}", in_types[i]) if in_types else helper.make_tensor_value_info(f"x{i}", type_of(a), list(a.shape)) for i, a in enumerate(inputs)]
    outs = [helper.make_value_info(f"y{i}", t) if not isinstance(t, int) else helper.make_tensor_value_info(f"y{i}", t, None) for i, t in enumerate(outputs)]
    def model(given):
        node = helper.make_node(op, [v.name for v in ins], [v.name for v in outs], domain=domain, **given)
        graph = helper.make_graph([node], name, ins, outs)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", version)], ir_version=9)

    store(name, model(attributes), inputs, model({**attributes, **judged}) if judged else None)


def floats(*shape):
    return rng.normal(size=shape).astype(np.float32)


def strings(*s):
    return np.array(s, dtype=object)


TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"]
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def features():
    x = floats(3, 4)
    one("afe_matrix", "ArrayFeatureExtractor", [x, np.array([[3, 0, 3]])], [F32])
    one("afe_vector_of_strings", "ArrayFeatureExtractor", [strings("a", "b", "c"), np.array([2, 1])], [STR])
    one("binarizer_threshold", "Binarizer", [np.array([[0.5, 0.50001], [7, -1]], np.float32)], [F32], threshold=0.5)
    one("feature_vectorizer_mixed", "FeatureVectorizer", [x, floats(3, 2)], [F32], inputdimensions=[4, 2])
    one("feature_vectorizer_cut_and_padded", "FeatureVectorizer", [x, floats(3, 2)], [F32], inputdimensions=[2, 5])
    one("feature_vectorizer_vectors", "FeatureVectorizer", [floats(3), floats(2)], [F32], inputdimensions=[3, 2])
    holes = x.copy()
    holes[0, 1] = holes[2, 3] = np.nan
    one("imputer_nan", "Imputer", [holes], [F32], imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan"))
    one("imputer_one_value", "Imputer", [np.array([[1, -1], [-1, 5]])], [I64], imputed_value_int64s=[9], replaced_value_int64=-1)
    for norm in ("MAX", "L1", "L2"):
        one(f"normalizer_{norm.lower()}", "Normalizer", [np.array([[1, -4, 2], [0, 0, 0], [-1, -2, -3]], np.float32)], [F32], norm=norm)
        one(f"normalizer_{norm.lower()}_int64_vector", "Normalizer", [np.array([3, -4, 12])], [F32], norm=norm)
    one("one_hot_ints", "OneHotEncoder", [np.array([[1, 7], [2, 1]])], [F32], cats_int64s=[1, 2, 3])
    one("one_hot_floats", "OneHotEncoder", [np.array([1, 2.7, 9, -1.2], np.float32)], [F32], cats_int64s=[1, 2, -1])
    one("one_hot_strings", "OneHotEncoder", [strings("b", "?", "a")], [F32], cats_strings=["a", "b"])
    one("scaler_per_feature", "Scaler", [np.arange(8).reshape(2, 4)], [F32], scale=[1.0, 2.0, 0.5, -1.0], offset=[0.0, 1.0, 2.0, 3.0])
    one("scaler_one", "Scaler", [x.astype(np.float64)], [F32], scale=[2.0], offset=[0.5])


def labels():
    one("category_mapper_to_ints", "CategoryMapper", [strings("b", "z", "a")], [I64], cats_int64s=[5, 6], cats_strings=["a", "b"], default_int64=-7)
    one("category_mapper_to_strings", "CategoryMapper", [np.array([[6, 1]])], [STR], cats_int64s=[5, 6], cats_strings=["a", "b"], default_string="none")
    one("label_encoder_v1_strings", "LabelEncoder", [strings("b", "z", "a")], [I64], version=1, classes_strings=["a", "b"], default_int64=-3)
    one("label_encoder_v1_ints", "LabelEncoder", [np.array([1, 5])], [STR], version=1, classes_strings=["a", "b"], default_string="none")
    one("label_encoder_v2_floats", "LabelEncoder", [np.array([1, 2, -0.0], np.float32)], [STR], version=2, keys_floats=[1.0, 0.0], values_strings=["one", "zero"])
    one("label_encoder_v2_repeated_key", "LabelEncoder", [np.array([1, 2])], [F32], version=2, keys_int64s=[1, 1], values_floats=[3.5, 4.5], default_float=0.5)
    one("label_encoder_v4_doubles", "LabelEncoder", [np.array([0.1, np.nan, 7.0])], [F64], version=4, keys_tensor=tensor(np.array([0.1, np.nan])), values_tensor=tensor(np.array([2.5, 9.5])), default_tensor=tensor(np.array([-1.0])))
    seq = helper.make_sequence_type_proto
    one("zipmap_strings", "ZipMap", [floats(3, 2)], [seq(helper.make_map_type_proto(STR, helper.make_tensor_type_proto(F32, None)))], classlabels_strings=["no", "yes"])
    one("zipmap_ints", "ZipMap", [floats(2, 3)], [seq(helper.make_map_type_proto(I64, helper.make_tensor_type_proto(F32, None)))], classlabels_int64s=[7, -1, 3])
    for form, most in (("DENSE", 1), ("SPARSE", 5)):
        for to, t in (("TO_FLOAT", F32), ("TO_INT64", I64), ("TO_STRING", STR)):
            one(f"castmap_{form.lower()}_{to.lower()}", "CastMap", [{3: 1.5, 0: -2.25}], [t], in_types=[map_type(I64, F32)], cast_to=to, map_form=form, max_map=most)
    one("dict_vectorizer_strings", "DictVectorizer", [{"a": 4.0, "c": 8.0}], [F32], in_types=[map_type(STR, F32)], string_vocabulary=["a", "c", "b", "z"])
    one("dict_vectorizer_ints", "DictVectorizer", [{5: 4.0, -2: 8.0}], [F32], in_types=[map_type(I64, F32)], int64_vocabulary=[-2, 1, 5])


def linear():
    x = floats(5, 3)
    for t in TRANSFORMS:
        squash = dict(coefficients=(rng.uniform(0.05, 0.2, 6)).astype(float).tolist(), intercepts=[0.4, 0.5])
        xs = rng.uniform(0, 1, (5, 3)).astype(np.float32)  # scores inside (0, 1), where PROBIT is defined
        one(f"linear_regressor_two_{t.lower()}", "LinearRegressor", [xs], [F32], targets=2, post_transform=t, **squash)
        one(f"linear_regressor_one_{t.lower()}", "LinearRegressor", [xs], [F32], post_transform=t, coefficients=squash["coefficients"][:3], intercepts=[0.4])
        one(f"linear_classifier_two_{t.lower()}", "LinearClassifier", [xs], [I64, F32], classlabels_ints=[4, 2], post_transform=t, **squash)
        if t != "PROBIT":  # onnxruntime writes the one transformed score over its neighbour's place
            one(f"linear_classifier_binary_{t.lower()}", "LinearClassifier", [x], [STR, F32], classlabels_strings=["n", "y"], post_transform=t, coefficients=[0.3, -0.5, 0.8], intercepts=[0.1])
    one("linear_classifier_double", "LinearClassifier", [x.astype(np.float64)], [I64, F32], classlabels_ints=[4, 2, 9], coefficients=floats(9).astype(float).tolist(), intercepts=[0.1, 0.2, 0.3])
    one("linear_regressor_no_intercepts", "LinearRegressor", [x], [F32], coefficients=[0.3, -0.5, 0.8])


def support_vectors():
    x = rng.uniform(-1, 1, (6, 3)).astype(np.float32)
    vectors = rng.uniform(-1, 1, 21).astype(float).tolist()
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        params = dict(kernel_type=kernel, kernel_params=[0.4, 0.3, 3.0])
        one(f"svm_regressor_{kernel.lower()}", "SVMRegressor", [x], [F32], n_supports=7, support_vectors=vectors, coefficients=floats(7).astype(float).tolist(), rho=[0.2], **params)
        for t in TRANSFORMS[:4]:
            one(f"svm_classifier_two_{kernel.lower()}_{t.lower()}", "SVMClassifier", [x], [I64, F32], classlabels_ints=[3, 8], vectors_per_class=[3, 4], support_vectors=vectors,
                coefficients=floats(7).astype(float).tolist(), rho=[0.1], post_transform=t, **params)
        one(f"svm_classifier_three_{kernel.lower()}", "SVMClassifier", [x], [STR, F32], classlabels_strings=["a", "b", "c"], vectors_per_class=[3, 2, 2], support_vectors=vectors,
            coefficients=floats(14).astype(float).tolist(), rho=[0.1, -0.2, 0.3], **params)
        one(f"svm_classifier_probabilities_{kernel.lower()}", "SVMClassifier", [x], [I64, F32], classlabels_ints=[1, 2, 3], vectors_per_class=[3, 2, 2], support_vectors=vectors,
            coefficients=floats(14).astype(float).tolist(), rho=[0.1, -0.2, 0.3], prob_a=[-1.0, -2.0, -1.5], prob_b=[0.1, 0.0, -0.1], **params)
    one("svm_classifier_linear_mode", "SVMClassifier", [x], [I64, F32], classlabels_ints=[1, 2, 3], coefficients=floats(9).astype(float).tolist(), rho=[0.1], kernel_params=[0.0, 0.0, 0.0])
    one("svm_classifier_linear_mode_binary", "SVMClassifier", [x], [I64, F32], classlabels_ints=[1, 2], coefficients=floats(6).astype(float).tolist(), rho=[0.1], kernel_params=[0.0, 0.0, 0.0])
    one("svm_regressor_linear_mode", "SVMRegressor", [x], [F32], coefficients=[0.3, -0.5, 0.8], rho=[0.2], n_supports=0, kernel_params=[0.0, 0.0, 0.0])
    one("svm_one_class", "SVMRegressor", [x], [F32], n_supports=7, support_vectors=vectors, coefficients=floats(7).astype(float).tolist(), rho=[-0.1], one_class=1, kernel_type="RBF", kernel_params=[0.4, 0.0, 0.0])


def random_trees(count, depth, columns, modes, missing=False, quarter=False):
    """Lists of version 1: full binary trees of the depth; node ids count through each tree."""
    t = {k: [] for k in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    leaves = []
    for tree in range(count):
        branches = 2**depth - 1
        for node in range(2 * branches + 1):
            leaf = node >= branches
            t["treeids"].append(tree)
            t["nodeids"].append(node)
            t["featureids"].append(0 if leaf else int(rng.integers(columns)))
            t["modes"].append("LEAF" if leaf else modes[int(rng.integers(len(modes)))])
            value = 0.0 if leaf else float(np.float32(rng.normal()))
            t["values"].append(round(value * 4) / 4 if quarter else value)
            t["truenodeids"].append(0 if leaf else 2 * node + 1)
            t["falsenodeids"].append(0 if leaf else 2 * node + 2)
            t["missing_value_tracks_true"].append(int(missing and rng.integers(2)))
            if leaf:
                leaves.append((tree, node))
    if not missing:
        del t["missing_value_tracks_true"]
    return {f"nodes_{k}": v for k, v in t.items()}, leaves


def votes(prefix, leaves, ids, weights):
    """ids: of each leaf one class (a function), or all of a list."""
    out = {f"{prefix}_treeids": [], f"{prefix}_nodeids": [], f"{prefix}_ids": [], f"{prefix}_weights": []}
    for tree, node in leaves:
        for i in ids():
            out[f"{prefix}_treeids"].append(tree)
            out[f"{prefix}_nodeids"].append(node)
            out[f"{prefix}_ids"].append(i)
            out[f"{prefix}_weights"].append(float(np.float32(weights())))
    return out


def trees():
    x = floats(12, 4)
    quarters = np.round(x * 4) / 4
    quarters[::3, 1] = np.nan
    quarters[1::4, 2] = np.nan
    signed, share = (lambda: rng.normal()), (lambda: rng.uniform(0, 0.3))
    for mode in MODES:
        nodes, leaves = random_trees(3, 2, 4, [mode], missing=True, quarter=True)
        one(f"trees_{mode.lower()}", "TreeEnsembleRegressor", [quarters], [F32], n_targets=1, **nodes, **votes("target", leaves, lambda: [0], signed))
    nodes, leaves = random_trees(4, 3, 4, MODES, missing=True, quarter=True)
    one("trees_mixed_modes", "TreeEnsembleRegressor", [quarters], [F32], n_targets=1, **nodes, **votes("target", leaves, lambda: [0], signed))
    nodes, leaves = random_trees(4, 2, 4, MODES[:1])
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        one(f"trees_{aggregate.lower()}_one_target", "TreeEnsembleRegressor", [x], [F32], n_targets=1, aggregate_function=aggregate, base_values=[0.5], **nodes, **votes("target", leaves, lambda: [0], signed))
        one(f"trees_{aggregate.lower()}_three_targets", "TreeEnsembleRegressor", [x], [F32], n_targets=3, aggregate_function=aggregate, base_values=[0.5, -1.0, 2.0], **nodes,
            **votes("target", leaves, lambda: [0, 1, 2], signed))  # onnxruntime forgets the base value of a target without votes
    for t in TRANSFORMS:
        one(f"trees_regressor_one_{t.lower()}", "TreeEnsembleRegressor", [x], [F32], n_targets=1, post_transform=t, **nodes, **votes("target", leaves, lambda: [0], share_positive))
        one(f"trees_regressor_two_{t.lower()}", "TreeEnsembleRegressor", [x], [F32], n_targets=2, post_transform=t, **nodes, **votes("target", leaves, lambda: [0, 1], share_positive))
        one(f"trees_classifier_three_{t.lower()}", "TreeEnsembleClassifier", [x], [I64, F32], classlabels_int64s=[5, 1, 8], post_transform=t, **nodes, **votes("class", leaves, lambda: [0, 1, 2], share_positive))
        if t != "PROBIT":
            for sign, weights in (("positive", share), ("signed", signed)):
                one(f"trees_classifier_binary_{sign}_{t.lower()}", "TreeEnsembleClassifier", [x], [STR, F32], classlabels_strings=["n", "y"], post_transform=t, **nodes, **votes("class", leaves, lambda: [0], weights))
    one("trees_classifier_binary_base", "TreeEnsembleClassifier", [x], [I64, F32], classlabels_int64s=[5, 1], base_values=[0.2], post_transform="LOGISTIC", **nodes, **votes("class", leaves, lambda: [0], signed))
    one("trees_classifier_three_base", "TreeEnsembleClassifier", [x], [I64, F32], classlabels_int64s=[5, 1, 8], base_values=[0.2, 0.1, -0.3], **nodes, **votes("class", leaves, lambda: [int(rng.integers(3))], signed))
    one("trees_classifier_int_input", "TreeEnsembleClassifier", [np.round(x).astype(np.int64)], [I64, F32], classlabels_int64s=[5, 1, 8], **nodes, **votes("class", leaves, lambda: [0, 1, 2], share_positive))
    wide = dict(nodes)
    wide["nodes_values_as_tensor"] = tensor(np.array(wide.pop("nodes_values"), np.float64))
    v = votes("target", leaves, lambda: [0], signed)
    v["target_weights_as_tensor"] = tensor(np.array(v.pop("target_weights"), np.float64))
    one("trees_double_as_tensor", "TreeEnsembleRegressor", [x.astype(np.float64)], [F32], n_targets=1, base_values_as_tensor=tensor(np.array([0.25])), **wide, **v)


def share_positive():
    return rng.uniform(0.05, 0.2)


def ensemble_v5():
    x = floats(9, 3)
    x[2, 0] = np.nan
    base = dict(
        tree_roots=[0, 3], nodes_featureids=[0, 1, 2, 1], nodes_truenodeids=[1, 0, 2, 4], nodes_falsenodeids=[2, 1, 3, 5], nodes_trueleafs=[0, 1, 1, 1], nodes_falseleafs=[0, 1, 1, 1],
        nodes_modes=tensor(np.array([0, 1, 2, 3], np.uint8)), nodes_missing_value_tracks_true=[1, 0, 0, 1], leaf_targetids=[0, 1, 0, 1, 1, 0])
    for kind, t in ((np.float32, F32), (np.float64, F64)):
        for aggregate in range(4):
            for transform in (0, 1, 2, 3):
                if kind == np.float64 and (aggregate, transform) != (1, 0):
                    continue
                # onnxruntime 1.32 numbers LOGISTIC 1 and SOFTMAX 2, the standard the other way round.
                one(f"ensemble_{kind.__name__}_aggregate{aggregate}_transform{transform}", "TreeEnsemble", [x.astype(kind)], [t], version=5, n_targets=2, aggregate_function=aggregate, post_transform=transform,
                    judged=dict(post_transform={1: 2, 2: 1}.get(transform, transform)), nodes_splits=tensor(np.array([0.1, -0.2, 0.3, 0.0], kind)), leaf_weights=tensor(np.array([0.5, -1.5, 2.5, 0.25, 1.0, -0.75], kind)), **base)


def text():
    one("split_blanks_limited", "StringSplit", [strings("  a b c ", "d", "  ", "")], [STR, I64], domain="", maxsplit=1)
    one("split_text", "StringSplit", [strings("a--b----c", "--", "x")], [STR, I64], domain="", delimiter="--")
    one("split_text_limited", "StringSplit", [strings("a,b,c", "d")], [STR, I64], domain="", delimiter=",", maxsplit=1)
    one("concat_broadcast", "StringConcat", [strings("a", "b").reshape(2, 1), strings("x", "", "ü")], [STR], domain="")
    one("regex", "RegexFullMatch", [strings("abc", "ab", "ABC", "abc\n", "日本")], [TensorProto.BOOL], domain="", pattern=r"(?i)a.c|\p{Han}+")
    words = strings(*"the cat sat on the mat the cat".split())
    for mode in ("TF", "IDF", "TFIDF"):
        for low, high, skips in ((1, 1, 0), (1, 2, 2), (2, 3, 1), (2, 2, 5)):
            one(f"tfidf_{mode.lower()}_{low}_{high}_{skips}", "TfIdfVectorizer", [words.reshape(2, 4)], [F32], domain="", mode=mode, min_gram_length=low, max_gram_length=high, max_skip_count=skips,
                ngram_counts=[0, 2, 8], ngram_indexes=[3, 0, 1, 2, 5, 4], pool_strings="the cat the cat on mat sat the the cat sat".split(), weights=[0.5, 1.5, 2.0, 0.25, 3.0, 0.75])


def scikit():
    iris = datasets.load_iris()
    x, y = iris.data[::3].astype(np.float32), iris.target[::3]
    binary = (y > 0).astype(np.int64)
    probe = iris.data[1::12].astype(np.float32)
    wanted = {"ai.onnx.ml": 3, "": 18}
    models = {
        "sk_forest": ensemble.RandomForestClassifier(5, max_depth=3, random_state=0).fit(x, y),
        "sk_forest_binary": ensemble.RandomForestClassifier(5, max_depth=3, random_state=0).fit(x, binary),
        "sk_boosting_regressor": ensemble.GradientBoostingRegressor(n_estimators=4, max_depth=2, random_state=0).fit(x, x[:, 0]),
        "sk_forest_regressor": ensemble.RandomForestRegressor(5, max_depth=3, random_state=0).fit(x, x[:, 0]),
        "sk_svc": svm.SVC(gamma=0.3).fit(x, y),
        "sk_svc_poly_binary": svm.SVC(kernel="poly", coef0=0.2).fit(x, binary),
        "sk_svr": svm.SVR().fit(x, x[:, 0]),
        "sk_one_class": svm.OneClassSVM(gamma=0.2).fit(x),
        "sk_logistic_pipeline": pipeline.make_pipeline(preprocessing.StandardScaler(), preprocessing.Normalizer(), linear_model.LogisticRegression()).fit(x, np.array(["s", "c", "v"])[y]),
    }
    for name, model in models.items():
        store(name, to_onnx(model, x[:1], target_opset=wanted), [probe])


def main():
    if OUT.exists():
        for folder in OUT.iterdir():
            if folder.is_dir():
                shutil.rmtree(folder)
    for part in (features, labels, linear, support_vectors, trees, ensemble_v5, text, scikit):
        part()
    print(f"{len(list(OUT.glob('*/model.onnx')))} cases in {OUT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
