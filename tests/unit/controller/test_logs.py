"""Log records say which serving they are about, in either form."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from ridgeline.controller.logs import configure_logging


@pytest.fixture(autouse=True)
def root_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    kopf = logging.getLogger("kopf").level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("kopf").setLevel(kopf)


def logged(*, as_json: bool, error: bool = False) -> str:
    stream = io.StringIO()
    configure_logging("info", as_json=as_json, stream=stream)
    log = logging.getLogger("ridgeline.test")
    extra = {"namespace": "team", "serving": "llama"}
    boom = ValueError("boom") if error else None
    log.warning("put off: %s", "reason", extra=extra, exc_info=boom)
    log.debug("not told")
    return stream.getvalue()


def test_json_is_one_object_a_line() -> None:
    (line,) = logged(as_json=True).splitlines()
    entry = json.loads(line)
    assert entry["message"] == "put off: reason"
    assert (entry["namespace"], entry["serving"], entry["level"]) == ("team", "llama", "warning")
    assert "boom" in json.loads(logged(as_json=True, error=True))["exception"]


def test_plain_text_names_the_serving_too() -> None:
    (line,) = logged(as_json=False).splitlines()
    assert line.endswith("put off: reason  namespace=team serving=llama")
    first, *trace = logged(as_json=False, error=True).splitlines()
    assert first.endswith("serving=llama")
    assert trace[-1] == "ValueError: boom"
