#!/usr/bin/env python3
"""Classical models, as users get them from converters, with ONNX Runtime's answers (one thread).

classical.py --write DIR        writes the small models of tests/data/classical with 24 rows each
classical.py --work DIR WICK    trains every estimator, converts it, and has `wick conformance` compare 1,000 rows in every
                                mode; says "skipped: ..." where a package is missing

The data are synthetic, the seeds fixed. Labels, what only moves, and sums of trees must be equal (a float32 sum goes in the
order of the trees in both); a bound_K.pb beside an output says how far its scores may be: 2^-21 for probabilities, whose
exponential is another one, 1e-5 of the largest for products and support vectors, whose sums go in another order."""

import importlib.util
import os
import shutil
import subprocess
import sys
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")
PACKAGES = ("numpy", "onnx", "onnxruntime", "sklearn", "skl2onnx", "onnxmltools", "xgboost", "lightgbm")
MODES = ("dyn", "flat", "bits", "round")
EXACT, PROBABILITY, PRODUCT = 0.0, 2.0**-21, 1e-5


ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
VENV = os.path.join(ROOT, "build", "classical", "venv", "bin", "python")  # tools/scripts/setup_classical.sh


def missing():
    return [name for name in PACKAGES if importlib.util.find_spec(name) is None]


class Data:
    """Features, and targets of three and of two classes, of words, and of numbers."""

    def __init__(self, rows):
        import numpy as np

        draw = np.random.RandomState(7)
        self.x = draw.randn(rows, 5).astype(np.float32)
        hidden = self.x @ draw.randn(5, 3) + 0.5 * self.x[:, :1] * self.x[:, 1:2]
        self.three = hidden.argmax(1)
        self.two = (hidden[:, 0] > hidden[:, 1]).astype(np.int64)
        self.words = np.array(["low", "mid", "top"])[self.three]
        self.number = hidden[:, 0] * 3 + draw.randn(rows) * 0.1
        self.holes = self.x.copy()
        self.holes[draw.rand(rows, 5) < 0.1] = np.nan
        self.kinds = self.x.copy()
        self.kinds[:, 0] = draw.randint(0, 9, rows)
        self.text = np.array(["red", "green", "blue", "grey"])[draw.randint(0, 4, (rows, 2))]


def sklearn_model(model, x, y=None, drop=(), **options):
    """The estimator as skl2onnx converts it, without ZipMap."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import StringTensorType

    model.fit(x, y)
    kinds = {} if x.dtype.kind == "f" else {"initial_types": [("x", StringTensorType([None, x.shape[1]]))]}
    if hasattr(model, "predict_proba") and "options" not in options:
        options["options"] = {id(model): {"zipmap": False}}
    proto = to_onnx(model, None if kinds else x[:1], target_opset={"": 17, "ai.onnx.ml": 3}, **kinds, **options)
    return proto, x


def tool_model(convert, model, x, y, **fit):
    from onnxmltools.convert.common.data_types import FloatTensorType

    model.fit(x, y, **fit)
    return convert(model, initial_types=[("x", FloatTensorType([None, x.shape[1]]))]), x


def estimators(data, small):
    """(name, model and rows, how far the scores may be) of each."""
    import lightgbm
    import onnxmltools
    import xgboost
    from sklearn import ensemble, linear_model, preprocessing, svm, tree
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    n, depth = (4, 3) if small else (40, 7)
    fixed = {"random_state": 0}
    fit = 60 if small else 400  # support vectors
    xgb = {"n_estimators": n, "max_depth": depth, "n_jobs": 1, **fixed}
    lgb = {"n_estimators": n, "max_depth": depth, "n_jobs": 1, "verbose": -1, **fixed}
    to_xgb, to_lgb = onnxmltools.convert_xgboost, onnxmltools.convert_lightgbm
    x, d = data.x, data
    yield "tree_classifier", sklearn_model(tree.DecisionTreeClassifier(max_depth=depth, **fixed), x, d.words), EXACT
    yield "tree_regressor", sklearn_model(tree.DecisionTreeRegressor(max_depth=depth, **fixed), x, d.number), EXACT
    forest = ensemble.RandomForestClassifier(n, max_depth=depth, **fixed)
    yield "forest_three", sklearn_model(forest, x, d.three), EXACT
    forest = ensemble.RandomForestClassifier(n, max_depth=depth, **fixed)
    yield "forest_two", sklearn_model(forest, x, d.two), EXACT
    yield "forest_numbers", sklearn_model(ensemble.RandomForestRegressor(n, max_depth=depth, **fixed), x, d.number), EXACT
    boosted = ensemble.GradientBoostingClassifier(n_estimators=n, max_depth=2, **fixed)
    yield "boosted_three", sklearn_model(boosted, x, d.three), PROBABILITY
    boosted = ensemble.GradientBoostingClassifier(n_estimators=n, max_depth=2, **fixed)
    yield "boosted_two", sklearn_model(boosted, x, d.two), PROBABILITY
    yield "boosted_numbers", sklearn_model(ensemble.GradientBoostingRegressor(n_estimators=n, **fixed), x, d.number), EXACT
    yield "logistic", sklearn_model(linear_model.LogisticRegression(), x, d.three), PRODUCT
    yield "ridge", sklearn_model(linear_model.Ridge(), x, d.number), PRODUCT
    few = slice(0, fit)
    yield "svm_two", (sklearn_model(svm.SVC(), x[few], d.two[few])[0], x), PRODUCT
    yield "svm_three", (sklearn_model(svm.SVC(), x[few], d.three[few])[0], x), PRODUCT
    yield "svm_numbers", (sklearn_model(svm.SVR(kernel="poly"), x[few], d.number[few])[0], x), PRODUCT
    holes = make_pipeline(SimpleImputer(), preprocessing.StandardScaler(), preprocessing.Normalizer())
    yield "prepared", sklearn_model(holes, d.holes), PRODUCT
    yield "words", sklearn_model(preprocessing.OneHotEncoder(handle_unknown="ignore"), d.text), EXACT
    yield "ordinal", sklearn_model(preprocessing.OrdinalEncoder(), d.text), EXACT
    yield "xgboost_three", tool_model(to_xgb, xgboost.XGBClassifier(**xgb), d.holes, d.three), PROBABILITY
    yield "xgboost_two", tool_model(to_xgb, xgboost.XGBClassifier(**xgb), x, d.two), PROBABILITY
    yield "xgboost_numbers", tool_model(to_xgb, xgboost.XGBRegressor(**xgb), d.holes, d.number), EXACT
    yield "lightgbm_three", tool_model(to_lgb, lightgbm.LGBMClassifier(**lgb), d.holes, d.three), PROBABILITY
    yield "lightgbm_two", tool_model(to_lgb, lightgbm.LGBMClassifier(**lgb), x, d.two), PROBABILITY
    kinds = tool_model(to_lgb, lightgbm.LGBMRegressor(**lgb), d.kinds, d.number + d.kinds[:, 0] % 3 * 20,
                       categorical_feature=[0])
    yield "lightgbm_kinds", kinds, EXACT


def without_maps(proto):
    """The model up to its ZipMap: case files hold tensors."""
    for node in list(proto.graph.node):
        if node.op_type != "ZipMap":
            continue
        for output in proto.graph.output:
            if output.name == node.output[0]:
                output.type.Clear()
                output.type.tensor_type.elem_type = 1
        node.op_type, node.domain = "Identity", ""
        del node.attribute[:]
    return proto


def answers(proto, rows):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # then the trees of a file are added in its order
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {proto.graph.input[0].name: rows})


def write_case(folder, proto, rows, far):
    import numpy as np
    from onnx import numpy_helper

    proto = without_maps(proto)
    proto.doc_string = ""
    outputs = answers(proto, rows)
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)

    def write(path, message):
        with open(path, "wb") as f:
            f.write(message.SerializeToString())

    write(os.path.join(folder, "model.onnx"), proto)
    write(os.path.join(data, "input_0.pb"), numpy_helper.from_array(rows, proto.graph.input[0].name))
    for k, (value, info) in enumerate(zip(outputs, proto.graph.output)):
        value = np.asarray(value)
        write(os.path.join(data, f"output_{k}.pb"), numpy_helper.from_array(value, info.name))
        if value.dtype.kind == "f":
            largest = 1.0 if far == PROBABILITY else float(np.abs(value).max())
            bound = np.full(value.shape, far * largest)
            write(os.path.join(data, f"bound_{k}.pb"), numpy_helper.from_array(bound, info.name))


def write_all(folder, small):
    rows = 24 if small else 1000
    data = Data(max(rows, 200))
    count = 0
    for name, (proto, x), far in estimators(data, small):
        path = os.path.join(folder, name)
        shutil.rmtree(path, ignore_errors=True)
        write_case(path, proto, x[:rows] if x.dtype.kind == "f" else x[:rows].astype(object), far)
        count += 1
    return count


def main(arguments):
    lacking = missing()
    if lacking and os.path.exists(VENV) and sys.executable != VENV:
        os.execv(VENV, [VENV, os.path.abspath(__file__), *arguments])
    if lacking:
        print("SKIP: classical packages not installed (" + ", ".join(lacking) + ")")
        return 77
    if arguments[0] == "--write":
        print(f"{write_all(arguments[1], True)} models")
        return 0
    work, wick = arguments[1], arguments[2]
    shutil.rmtree(work, ignore_errors=True)
    count = write_all(work, False)
    failed = 0
    for mode in MODES:
        ran = subprocess.run([wick, "conformance", work, "--mode", mode, "-v", "--bar", "100"], check=False)
        failed += ran.returncode != 0
    print(f"COUNT: classical: {count} models of 1,000 rows in {len(MODES)} modes")
    print(f"{len(MODES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
