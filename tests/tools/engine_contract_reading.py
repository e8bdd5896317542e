"""What a released package of vLLM says of its speculative config, read from its source.

Nothing of the package is imported or run: its files are parsed. What is read here is written in the
words of `settings/data/engine_contracts.yaml`, so that both can be compared.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WATCHED_FLAGS = frozenset(
    {
        *("--speculative-config", "-sc", "--spec-method", "--spec-model", "--spec-tokens"),
        *("--custom-histogram-buckets", "--show-hidden-metrics-for-version"),
        *("--per-request-spec-decode-metrics", "--disable-log-stats", "--shutdown-timeout"),
        *("--gpu-memory-utilization", "--max-num-seqs", "--max-num-batched-tokens"),
        *("--async-scheduling", "--api-server-count", "--enable-lora", "--enforce-eager"),
        "--logits-processors",
        *("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size"),
    }
)
METRIC_FILES = ("vllm/v1/metrics/*.py", "vllm/v1/spec_decode/metrics.py")
_TYPES = {"bool": "Switch", "int": "Whole", "float": "Number", "list[float]": "Numbers"}


_INFO = re.compile(r"vllm:[a-z_]+_info")
"""Series whose name is not given where they are made."""


class UnreadableError(ValueError):
    """The package is not built as the releases before it: the reading must be taught."""


@dataclass(frozen=True)
class Package:
    """The unpacked source of a release; parsed files are kept."""

    root: Path

    def tree(self, *paths: str) -> ast.Module:
        for path in paths:
            if (self.root / path).is_file():
                return ast.parse((self.root / path).read_text(encoding="utf-8"))
        raise UnreadableError(f"none of {', '.join(paths)} is in the package")

    def trees(self, *patterns: str) -> Iterator[ast.Module]:
        for pattern in patterns:
            for path in sorted(self.root.glob(pattern)):
                yield ast.parse(path.read_text(encoding="utf-8"))

    def mentions(self, word: str, *, outside: tuple[str, ...]) -> bool:
        for path in (self.root / "vllm").rglob("*.py"):
            name = path.relative_to(self.root).as_posix()
            if not name.startswith(outside) and word in path.read_text(encoding="utf-8"):
                return True
        return False


CONFIG = ("vllm/config/speculative.py", "vllm/config/__init__.py", "vllm/config.py")
WHOLE_CONFIG = ("vllm/config/vllm.py", "vllm/config/__init__.py", "vllm/config.py")
CACHE = ("vllm/config/cache.py", "vllm/config/__init__.py", "vllm/config.py")
ARGUMENTS = "vllm/engine/arg_utils.py"


def read(root: Path) -> dict[str, object]:
    """Return the row of a release: `keys`, `methods`, `flags`, `metrics` and its facts."""
    package = Package(root)
    module = package.tree(*CONFIG)
    cls = named(module, "SpeculativeConfig")
    keys = keys_of(cls, literals(module))
    checked = is_checked(package, module)
    unknown = unknown_keys(package, cls, checked=checked)
    return {
        "keys": keys,
        "methods": sorted(methods_of(module, cls, checked=checked)),
        "flags": sorted(flags_of(package)),
        "metrics": sorted(metrics_of(package)),
        "unknownKeys": unknown,
        "emptyConfigIsOff": empty_is_off(package),
        "checksTypes": checked,
        "dashedKeys": 'replace("-", "_"): v' in (root / ARGUMENTS).read_text(encoding="utf-8"),
        "notImplemented": sorted(not_implemented(package)),
        "scheduleMethods": schedule_methods(package),
        "scheduleDroppedWithDataParallel": schedule_dropped(package),
        "disableByBatchSize": disable_by_batch_size(package, keys, unknown),
        "draftModelTensorParallel": draft_model_tensor_parallel(package),
        "draftSlots": draft_slots(package),
        "maxLookahead": max_lookahead(package),
        "speculatorsCheckpoint": "speculators" in (root / ARGUMENTS).read_text(encoding="utf-8"),
        "customClass": custom_class(cls),
        "eagle3Targets": sorted(eagle3_targets(cls)),
        "defaultMemoryUtilization": default_memory_utilization(package),
    }


def named(module: ast.Module, name: str) -> ast.ClassDef:
    """Return the class of a name."""
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    raise UnreadableError(f"there is no class {name}")


def function(module: ast.Module, name: str) -> ast.FunctionDef | None:
    """Return the function or method of a name."""
    found = (n for n in ast.walk(module) if isinstance(n, ast.FunctionDef) and n.name == name)
    return next(found, None)


def literals(module: ast.Module) -> dict[str, tuple[str, ...]]:
    """Return the values of each `Name = Literal[…]`, names inside replaced by their values."""
    found: dict[str, tuple[str, ...]] = {}
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values = literal(node.value, found)
            if values:
                found[node.targets[0].id] = values
    return found


def literal(node: ast.expr | None, known: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the values of `Literal[…]`; a part of it that is None or not a string is left out."""
    if isinstance(node, ast.BinOp):
        return literal(node.left, known) + literal(node.right, known)
    if isinstance(node, ast.Name):
        return known.get(node.id, ())
    if isinstance(node, ast.Subscript):
        head = ast.unparse(node.value).rpartition(".")[2]
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head == "Optional":
            return literal(node.slice, known)
        if head == "Literal":
            return tuple(each for part in parts for each in _values(part, known))
    return ()


def _values(part: ast.expr, known: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    if isinstance(part, ast.Constant):
        return (part.value,) if isinstance(part.value, str) else ()
    return literal(part, known)


def keys_of(cls: ast.ClassDef, known: dict[str, tuple[str, ...]]) -> dict[str, dict[str, object]]:
    """Return the keys of the config: type, lowest value, choices."""
    keys: dict[str, dict[str, object]] = {}
    for node in cls.body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        name = node.target.id
        if name.startswith("_") or "ClassVar" in ast.unparse(node.annotation):
            continue
        key: dict[str, object] = {"type": key_type(ast.unparse(node.annotation))}
        minimum = lowest(node.value)
        if minimum is not None:
            key["minimum"] = minimum
        choices = literal(node.annotation, known)
        if choices and name != "method":
            key["choices"] = list(choices)
        keys[name] = key
    return keys


def key_type(annotation: str) -> str:
    """Return what an annotation means as JSON."""
    bare = annotation.replace("SkipValidation[", "").replace("Optional[", "")
    bare = bare.removesuffix("| None").strip().rstrip("]") + ("]" if "list[" in bare else "")
    if bare.startswith("list[tuple"):
        return "Table"
    if bare.endswith("Config"):
        return "Object"
    return _TYPES.get(bare.replace("]]", "]"), "Text")


def lowest(default: ast.expr | None) -> float | None:
    """Return the lowest value that `Field(ge=…)` allows, or `Field(gt=…)` of whole numbers."""
    if not isinstance(default, ast.Call) or ast.unparse(default.func) != "Field":
        return None
    for keyword in default.keywords:
        if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, int | float):
            if keyword.arg == "ge":
                return keyword.value.value
            if keyword.arg == "gt":
                return keyword.value.value + 1
    return None


def methods_of(module: ast.Module, cls: ast.ClassDef, *, checked: bool) -> set[str]:
    """Return the names of methods: the Literal's, and where nothing checks it those in the code."""
    found = set(literals(module).get("SpeculativeMethod", ()))
    for node in ast.walk(cls) if not checked or not found else ():
        if isinstance(node, ast.Compare) and ast.unparse(node.left) == "self.method":
            found |= {each for each in strings(node.comparators[0]) if each.isidentifier()}
    return found


def strings(node: ast.AST) -> Iterator[str]:
    """Yield every string constant in a tree."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def is_checked(package: Package, module: ast.Module) -> bool:
    """Tell whether pydantic checks the values: by which `dataclass` the config is."""
    imported = {
        (node.module, name.asname or name.name)
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    utils = "".join(ast.unparse(tree) for tree in package.trees("vllm/config/utils.py"))
    return ("pydantic.dataclasses", "dataclass") in imported or "pydantic" in utils


def unknown_keys(package: Package, cls: ast.ClassDef, *, checked: bool) -> str:
    """Return what becomes of keys that it does not know; a plain dataclass raises TypeError."""
    utils = [ast.unparse(tree) for tree in package.trees("vllm/config/utils.py")]
    decorators = [ast.unparse(each) for each in cls.decorator_list]
    forbids = any("extra='forbid'" in each for each in utils + decorators)
    return "Refused" if forbids or not checked else "Ignored"


def flags_of(package: Package) -> set[str]:
    """Return the watched flags that `vllm serve` has."""
    found: set[str] = set()
    for tree in package.trees(ARGUMENTS, "vllm/entrypoints/**/*.py", "vllm/utils/*.py"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".add_argument"):
                found |= {each for part in node.args for each in strings(part)}
    return found & WATCHED_FLAGS


def metrics_of(package: Package) -> set[str]:
    """Return the names of series as a page has them, histograms without their suffixes."""
    found: set[str] = set()
    for tree in package.trees(*METRIC_FILES):
        hidden = {id(each) for node in _hidden(tree) for each in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and id(node) not in hidden:
                found |= set(_metric(node))
            elif isinstance(node, ast.Tuple):
                found |= set(_counter_row(node))
            elif isinstance(node, ast.Constant) and _INFO.fullmatch(str(node.value)):
                found.add(str(node.value))
    return found


def _hidden(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "hidden" in ast.unparse(node.test):
            yield from node.body


def _metric(call: ast.Call) -> Iterator[str]:
    kind = ast.unparse(call.func).casefold()
    if not any(each in kind for each in ("counter", "gauge", "histogram")):
        return
    given = [k.value for k in call.keywords if k.arg == "name"] or list(call.args[:1])
    for each in given:
        if isinstance(each, ast.Constant) and str(each.value).startswith("vllm:"):
            name = str(each.value)
            counts = "counter" in kind and not name.endswith("_total")
            yield f"{name}_total" if counts else name


def _counter_row(row: ast.Tuple) -> Iterator[str]:
    """Yield the name of a row of (name, documentation), which a loop makes a counter of."""
    texts = [each.value for each in row.elts if isinstance(each, ast.Constant)]
    name = texts[0] if texts else None
    if len(row.elts) == 2 and isinstance(name, str) and name.startswith("vllm:"):
        yield f"{name}_total"


def empty_is_off(package: Package) -> bool:
    """Tell whether an empty `--speculative-config=` is read as none."""
    for node in ast.walk(package.tree(ARGUMENTS)):
        if isinstance(node, ast.Assign):
            target, value = ast.unparse(node.targets[0]), ast.unparse(node.value)
            if "'speculative_config'" in target and "'type'" in target:
                return "optional" in value
    return False


def not_implemented(package: Package) -> set[str]:
    """Return methods that the config accepts and the start refuses with NotImplementedError."""
    for tree in package.trees("vllm/config.py", "vllm/config/*.py", ARGUMENTS):
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and node.exc is not None:
                text = ast.unparse(node.exc)
                if "NotImplementedError" in text and "draft model is not supported" in text:
                    return {"draft_model"}
    return set()


def schedule_methods(package: Package) -> list[str] | None:
    """Return the methods with which Model Runner V1 honours the table; None: it does not say."""
    found = function(package.tree(*WHOLE_CONFIG), "_maybe_disable_dynamic_sd_for_v1")
    if found is None:
        return None
    for node in ast.walk(found):
        if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith(".method"):
            return sorted(strings(node.comparators[0]))
    raise UnreadableError("_maybe_disable_dynamic_sd_for_v1 compares no method")


def schedule_dropped(package: Package) -> bool:
    """Tell whether the table is left out with several engines."""
    name = "_maybe_disable_dynamic_sd_for_data_parallel"
    return function(package.tree(*WHOLE_CONFIG), name) is not None


def disable_by_batch_size(
    package: Package, keys: dict[str, dict[str, object]], unknown: str
) -> str:
    """Return what becomes of `disable_by_batch_size`."""
    if "disable_by_batch_size" not in keys:
        return unknown
    config = ("vllm/config", "vllm/engine/arg_utils", "vllm/transformers_utils")
    works = package.mentions("disable_by_batch_size", outside=config)
    return "Works" if works else "Ignored"


def draft_model_tensor_parallel(package: Package) -> str:
    """Return which tensor-parallel sizes a draft model may have."""
    for tree in package.trees("vllm/v1/spec_decode/*.py"):
        if function(tree, "_raise_if_draft_tp_mismatch") is not None:
            return "Target"
    return "OneOrTarget"


def draft_slots(package: Package) -> str:
    """Return how slots for drafts are taken off max-num-batched-tokens."""
    found = function(package.tree(*WHOLE_CONFIG), "_set_max_num_scheduled_tokens")
    if found is None:
        return "None"
    return "PerRequest" if "max_num_seqs *" in _products(found) else "Once"


def _products(tree: ast.AST) -> str:
    found = [ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.BinOp)]
    return "max_num_seqs *" if any("max_num_seqs" in n and "*" in n for n in found) else ""


def custom_class(cls: ast.ClassDef) -> str:
    """Return when a model's name is taken for the path of a class."""
    for node in ast.walk(cls):
        if isinstance(node, ast.If) and "self.method = 'custom_class'" in map(
            ast.unparse, node.body
        ):
            return "WithoutMethod" if "self.method is None" in ast.unparse(node.test) else "Always"
    return "Never"


def eagle3_targets(cls: ast.ClassDef) -> set[str]:
    """Return what the target's model type must contain for EAGLE-3."""
    for node in ast.walk(cls):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if ast.unparse(target) in ("eagle3_target_supported", "aux_hidden_states_supported"):
                return set(strings(node.value))
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.NotIn):
            continue
        if ast.unparse(node.comparators[0]).endswith("hf_text_config.model_type"):
            return set(strings(node.left))
    return set()


def max_lookahead(package: Package) -> int:
    """Return the longest draft that the rejection sampler works with."""
    for tree in package.trees("vllm/v1/sample/rejection_sampler.py"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MAX_SPEC_LEN":
                return int(ast.literal_eval(node.value))
    raise UnreadableError("the rejection sampler has no MAX_SPEC_LEN")


def default_memory_utilization(package: Package) -> float:
    """Return the default of `--gpu-memory-utilization`."""
    for node in named(package.tree(*CACHE), "CacheConfig").body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "gpu_memory_utilization":
            default = node.value
            if isinstance(default, ast.Call):
                default = next((k.value for k in default.keywords if k.arg == "default"), None)
            if isinstance(default, ast.Constant) and isinstance(default.value, float):
                return default.value
    raise UnreadableError("CacheConfig has no default of gpu_memory_utilization")
