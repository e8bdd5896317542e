"""The contract beside recordings of a real server: names of series, labels and buckets.

The recordings lie in ../shared/recordings, beside the checkout; where they do not, nothing is
compared.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ridgeline.engine.contract import EngineContract, contract_of
from ridgeline.engine.latency_buckets import DEFAULT_BOUNDS
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.sim.stand_in.contract import contract_for
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.queries import REGISTRY, query_context

RECORDINGS = Path(__file__).resolve().parents[4] / "shared" / "recordings"
PAGES = sorted(
    page for page in RECORDINGS.glob("*/*.prom") if page.with_name("version.json").exists()
)
IDS = [f"{page.parent.name}/{page.stem}" for page in PAGES]

pytestmark = pytest.mark.skipif(not PAGES, reason="no recordings beside the checkout")
each_page = pytest.mark.parametrize("page", PAGES, ids=IDS)

SWITCHED_OFF = {
    "vllm:corrupted_requests_total",  # VLLM_COMPUTE_NANS_IN_LOGITS
    "vllm:lora_requests_info",  # --enable-lora
    "vllm:kv_block_idle_before_evict_seconds",  # --kv-cache-metrics
    "vllm:kv_block_lifetime_seconds",
    "vllm:kv_block_reuse_gap_seconds",
    "vllm:num_requests_kv_fetch_by_stage",  # a KV connector
    "vllm:watermark_requests_total",  # watermarking
    "vllm:diffusion_num_canvas_positions_total",  # diffusion models
    "vllm:diffusion_num_committed_tokens_total",
    "vllm:diffusion_num_denoising_steps_total",
}
"""Series of features that the recorded servers did not use."""

_SAMPLE = re.compile(r"^(vllm:\w+)(?:\{(.*)\})? ")
_LABEL = re.compile(r'(\w+)="')
_BOUND = re.compile(r'le="([^"]+)"')


@dataclass
class Family:
    """One family of a page."""

    kind: str
    labels: set[str] = field(default_factory=set)
    bounds: list[float] = field(default_factory=list)


def families(page: Path) -> dict[str, Family]:
    """vLLM's families of a page, by the names that the contract uses, without `_created`."""
    found: dict[str, Family] = {}
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("# TYPE vllm:"):
            _, _, name, kind = line.split()
            if not name.endswith("_created"):
                found[name] = Family(kind)
        match = _SAMPLE.match(line)
        name = re.sub(r"_(bucket|sum|count)$", "", match[1]) if match else ""
        family = found.get(match[1] if match and match[1] in found else name)
        if match is None or family is None:
            continue
        family.labels |= set(_LABEL.findall(match[2] or "")) - {"le"}
        bound = _BOUND.search(match[2] or "")
        if bound is not None and float(bound[1]) not in family.bounds:
            family.bounds.append(float(bound[1]))
    return found


def release_of(page: Path) -> EngineContract:
    version = json.loads((page.parent / "version.json").read_text())["version"]
    return contract_of(load_engine_contracts(), version)


def speculates(page: Path) -> bool:
    return "--speculative-config" in json.loads((page.parent / "meta.json").read_text())["argv"]


@each_page
def test_every_series_of_the_page_is_in_the_contract(page: Path) -> None:
    contract = release_of(page)
    assert contract.verified
    assert contract.known_as == contract.version
    assert set(families(page)) <= contract.metrics


@each_page
def test_the_page_has_what_the_contract_says(page: Path) -> None:
    missing = release_of(page).metrics - set(families(page)) - SWITCHED_OFF
    spec = {name for name in missing if name.startswith("vllm:spec_decode")}
    assert missing == spec, "only series of speculation may be missing"
    assert bool(spec) is not speculates(page)


@each_page
def test_the_latency_buckets_are_those_that_findings_are_made_from(page: Path) -> None:
    found = families(page)
    for name in ("inter_token_latency_seconds", "request_time_per_output_token_seconds"):
        assert tuple(found[f"vllm:{name}"].bounds) == (*DEFAULT_BOUNDS, float("inf"))


@each_page
def test_buckets_and_labels_are_those_of_the_stand_in(page: Path) -> None:
    shown = {
        spec.name: spec
        for spec in contract_for(release_of(page).version).metrics
        if spec.engine == "v1" and not spec.hidden
    }
    for name, family in families(page).items():
        spec = shown[name]
        if spec.buckets is not None:
            assert family.bounds == [*spec.buckets, float("inf")], name
        if family.labels and name != "vllm:cache_config_info":
            assert family.labels == set(spec.labels), name


def asked() -> Iterator[tuple[str, frozenset[str]]]:
    """Each query with the families that it asks for; one of them is enough."""
    context = query_context(Endpoint(name="x", url="http://x"), 120.0)
    for query in REGISTRY.values():
        names = frozenset(re.findall(r"\b(vllm:\w+)", query.render(context)))
        if names:
            yield query.name, names


@each_page
def test_what_telemetry_asks_for_is_on_the_page(page: Path) -> None:
    samples = {match[1] for line in page.read_text().splitlines() if (match := _SAMPLE.match(line))}
    for query, names in asked():
        if speculates(page) or not all(name.startswith("vllm:spec_decode") for name in names):
            assert names & samples, query
