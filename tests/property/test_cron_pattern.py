"""What the API server lets through as cron is cron, but for ranges that run backwards.

The schema's pattern and cronsim must not drift apart: a schedule that the API server took and
nobody can follow would surprise.
"""

import re
from datetime import UTC, datetime

import pytest
from cronsim import CronSim, CronSimError
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.api.schedules import CRON_HAS_FIVE_FIELDS, CRON_PATTERN

pytestmark = pytest.mark.slow


MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
RANGE = re.compile(r"(\w+)-(\w+)")
ACCEPTED = st.from_regex(re.compile(CRON_PATTERN, re.ASCII), fullmatch=True).filter(
    lambda text: not text.endswith("\n")
)


def number(word: str, names: list[str]) -> int:
    return names.index(word.upper()) if word.upper() in names else int(word)


def runs_backwards(text: str) -> bool:
    names: list[list[str]] = [[], [], [], ["", *MONTHS], DAYS]
    return any(
        number(low, known) > number(high, known)
        for field, known in zip(text.split(), names, strict=True)
        for low, high in RANGE.findall(field)
    )


def days_that_no_month_has(text: str) -> bool:
    day, month = text.split()[2:4]
    return re.search("29|30|31", day) is not None and not month.startswith("*")


@given(ACCEPTED)
def test_what_the_pattern_accepts_cronsim_reads(text: str) -> None:
    assert CRON_HAS_FIVE_FIELDS.check(text) == text
    try:
        CronSim(text, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError:
        assert runs_backwards(text) or days_that_no_month_has(text)


@given(st.text(alphabet="0123456789*,-/ LWMON#\n", max_size=24))
def test_what_cronsim_cannot_split_into_five_fields_the_pattern_refuses(text: str) -> None:
    offence = CRON_HAS_FIVE_FIELDS.offence
    assert offence is not None
    accepted = offence(text) is None
    assert not accepted or len(text.split()) == 5
