"""Read a released vLLM package and compare it with the engine contracts.

`python -m tests.tools.engine_contract --version 0.34.0` downloads the package, parses its source
(nothing of it is imported or run) and prints, as the entry for the data file, what differs from
what the data says of that version. Exit status 0: nothing differs, and the version has an entry;
1: something is to be reviewed; 2: the package cannot be had or read.
"""

import argparse
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import yaml

from ridgeline.engine.contract import EngineContract, contract_of
from ridgeline.settings.engine_contract import load_engine_contracts
from tests.tools.engine_contract_reading import UnreadableError, read

LISTS = {"keys": "Keys", "methods": "Methods", "flags": "Flags", "metrics": "Metrics"}
DOWNLOAD_SECONDS = 900


def row_of(contract: EngineContract) -> dict[str, object]:
    """Return a contract in the words of a reading."""
    return {
        "keys": {
            name: {"type": key.type.value, "minimum": key.minimum, "choices": list(key.choices)}
            for name, key in contract.keys.items()
        },
        "methods": sorted(contract.method_names),
        "flags": sorted(contract.flags),
        "metrics": sorted(contract.metrics),
        "unknownKeys": contract.unknown_keys.value,
        "emptyConfigIsOff": contract.empty_config_is_off,
        "checksTypes": contract.checks_types,
        "dashedKeys": contract.dashed_keys,
        "notImplemented": sorted(contract.not_implemented),
        "scheduleMethods": sorted(contract.schedule_methods),
        "scheduleDroppedWithDataParallel": contract.schedule_dropped_with_data_parallel,
        "disableByBatchSize": contract.disable_by_batch_size.value,
        "draftModelTensorParallel": contract.draft_tensor_parallel["draft_model"].value,
        "draftSlots": contract.draft_slots.value,
        "maxLookahead": contract.max_lookahead,
        "speculatorsCheckpoint": contract.speculators_checkpoint,
        "customClass": contract.custom_class.value,
        "eagle3Targets": sorted(contract.eagle3_targets),
        "defaultMemoryUtilization": contract.default_memory_utilization,
    }


def differences(said: Mapping[str, object], found: Mapping[str, object]) -> dict[str, object]:
    """Return what a reading has other than the data says, as fields of an entry.

    What a package does not tell (`None`) is left to the data.
    """
    entry: dict[str, object] = {}
    for field, value in found.items():
        if field in LISTS:
            before, after = set(_names(said[field])), set(_names(value))
            entry |= {f"add{LISTS[field]}": sorted(after - before)} if after - before else {}
            entry |= {f"remove{LISTS[field]}": sorted(before - after)} if before - after else {}
        elif value is not None and value != said[field]:
            entry[field] = value
    changed = changed_keys(said["keys"], found["keys"])
    return entry | ({"changeKeys": changed} if changed else {})


def _names(value: object) -> Sequence[str]:
    return list(value) if isinstance(value, list | dict) else []


def changed_keys(said: object, found: object) -> list[dict[str, object]]:
    """Return the keys that both have and whose type, lowest value or choices differ."""
    rows: list[dict[str, object]] = []
    if not isinstance(said, dict) or not isinstance(found, dict):
        return rows
    for name in sorted(set(said) & set(found)):
        told = {k: v for k, v in found[name].items() if v != said[name].get(k)}
        if told:
            rows.append({"name": name, **told})
    return rows


def download(version: str, folder: Path) -> Path:
    """Download a release's wheel with pip and return the folder of its Python files.

    A wheel, although it is larger than the source distribution: pip builds the metadata of the
    latter, which needs a compiler and torch.

    Raises:
        UnreadableError: There is no such release, or no way to it.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--only-binary", ":all:", "--dest", str(folder), f"vllm=={version}"]
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise UnreadableError(f"vllm {version} was not there in {error.timeout:.0f} s") from error
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        last = (done.stderr.strip() or "pip gave no reason").splitlines()[-1]
        raise UnreadableError(f"vllm {version} cannot be downloaded: {last}")
    with zipfile.ZipFile(wheels[0]) as wheel:
        python = [each for each in wheel.namelist() if each.endswith(".py")]
        wheel.extractall(folder / "source", members=python)
    return folder / "source"


def report(version: str, entry: Mapping[str, object], *, listed: bool) -> str:
    """Return what a person reviews."""
    if not entry:
        same = "the data says the same of it"
        return f"vLLM {version}: {same}" + ("" if listed else "; add an entry to have it verified")
    today = datetime.now(UTC).date()
    whole = {"version": version, "source": "wheel", "asOf": today, **entry}
    text = yaml.safe_dump([whole], sort_keys=False, width=96, default_flow_style=None)
    words = [f"# vLLM {version} differs from what the data says of it. To be reviewed:", text]
    added = _names(entry.get("addKeys"))
    if added:
        words.append(f"# Describe these under `keys`, with their use: {', '.join(added)}")
    return "\n".join(words)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.engine_contract")
    parser.add_argument("--version", required=True, help="release of vLLM, such as 0.34.0")
    parser.add_argument("--source", type=Path, help="folder of the unpacked package, if at hand")
    given = parser.parse_args(arguments)
    contracts = load_engine_contracts()
    said = contract_of(contracts, given.version)
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = read(given.source or download(given.version, Path(folder)))
    except UnreadableError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    listed = any(each.version == given.version for each in contracts)
    entry = differences(row_of(said), found)
    sys.stdout.write(report(given.version, entry, listed=listed) + "\n")
    return 1 if entry or not listed else 0


if __name__ == "__main__":
    sys.exit(main())
