"""Image tags as people write them."""

import pytest

from ridgeline.engine.version import is_legacy, version_of_image


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:v0.24.0", "0.24.0"),
        ("vllm/vllm-openai:0.11.2", "0.11.2"),
        ("registry.example:5000/mirror/vllm/vllm-openai:v0.33.0-cu128", "0.33.0"),
        ("registry.example/vllm-openai:v0.10.1.1", "0.10.1"),
        ("registry.example/vllm:v0.9", "0.9.0"),
        ("vllm/vllm-openai:v0.24.0@sha256:0123", "0.24.0"),
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai:nightly-2026.1.1", None),
        ("vllm/vllm-openai", None),
        ("registry.example:5000/vllm", None),
        ("registry.example/serving:v2.1.0", None),
        ("", None),
    ],
)
def test_the_version_is_that_of_the_tag_of_a_vllm_image(image: str, version: str | None) -> None:
    assert version_of_image(image) == version


@pytest.mark.parametrize(
    ("version", "legacy"),
    [("0.9.2", True), ("0.8.5", True), ("0.10.0", False), ("1.0.0", False), (None, False)],
)
def test_legacy_engines_are_those_before_the_second_scheduler(
    version: str | None, legacy: bool
) -> None:
    assert is_legacy(version) is legacy
