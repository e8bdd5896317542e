"""The stand-in as a process: exit codes, signals and how it starts."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

EAGLE = '--speculative-config={"method":"eagle","model":"head","num_speculative_tokens":4}'


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def command(*flags: str) -> list[str]:
    return [sys.executable, "-m", "ridgeline.sim.stand_in", "serve", "target", *flags]


def environment(**settings: str) -> dict[str, str]:
    return (
        os.environ
        | {"STAND_IN_STARTUP_SECONDS": "0.2", "STAND_IN_SHUTDOWN_SECONDS": "0"}
        | settings
    )


def run(*flags: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*flags),
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@contextmanager
def serving(*flags: str, **settings: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    port = free_port()
    process = subprocess.Popen(
        command("--host", "127.0.0.1", "--port", str(port), *flags),
        env=environment(**settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.communicate()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url + "/health", timeout=5) as response:
            return bool(response.status == 200)
    except urllib.error.URLError as error:
        if isinstance(error.reason, ConnectionRefusedError):
            return False
        raise


def wait_until_ready(url: str) -> None:
    for _ in range(200):
        if answers(url):
            return
        time.sleep(0.05)
    pytest.fail("the stand-in did not become ready")


def test_usage_errors_exit_with_2_and_speak_on_stderr() -> None:
    done = run("--speculative-config=$(VAR)")
    assert done.returncode == 2
    assert done.stderr.startswith("usage: vllm serve")
    assert done.stdout == ""


def test_refused_configs_exit_with_1_and_speak_on_stderr() -> None:
    done = run(EAGLE.replace("eagle", "eagel"))
    assert done.returncode == 1
    assert "ValidationError" in done.stderr


def test_a_bad_schedule_dies_after_the_load_with_its_cause_on_stdout() -> None:
    table = ',"num_speculative_tokens_per_batch_size":[[2,8,4]]}'
    with serving(EAGLE[:-1] + table, STAND_IN_STARTUP_SECONDS="1") as (process, url):
        time.sleep(0.6)
        assert process.poll() is None
        assert not answers(url)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "ValueError: The first batch-size range must start at 1" in out
    assert "Engine core initialization failed" in err


def test_a_wrong_setting_exits_with_2_and_names_it() -> None:
    done = run(STAND_IN_TIME_SCALE="fast")
    assert done.returncode == 2
    assert "STAND_IN_TIME_SCALE='fast'" in done.stderr


def test_connections_are_refused_until_ready_then_sigterm_exits_with_0() -> None:
    with serving(STAND_IN_STARTUP_SECONDS="1") as (process, url):
        assert not answers(url)
        wait_until_ready(url)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        assert not answers(url)


def test_sigterm_during_start_up_waits_for_readiness() -> None:
    with serving(STAND_IN_STARTUP_SECONDS="2") as (process, _):
        assert process.stdout is not None
        assert "API server version" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert process.poll() is None
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Shutting down" in out


@pytest.mark.parametrize(("flags", "finished"), [((), False), (("--shutdown-timeout=20",), True)])
def test_running_requests_are_aborted_or_drained(flags: tuple[str, ...], finished: bool) -> None:
    with serving(*flags, STAND_IN_TIME_SCALE="0.3") as (process, url):
        wait_until_ready(url)
        body = b'{"prompt":"x","max_tokens":40,"stream":true}'
        request = urllib.request.Request(url + "/v1/completions", data=body)
        with urllib.request.urlopen(request, timeout=20) as response:
            response.readline()
            process.send_signal(signal.SIGTERM)
            try:
                rest = response.read().decode()
            except (OSError, http.client.IncompleteRead):
                rest = ""
        assert process.wait(timeout=20) == 0
    assert rest.endswith("data: [DONE]\n\n") is finished


def test_a_crash_can_be_ordered_with_its_exit_code() -> None:
    with serving(STAND_IN_DIE_AFTER_SECONDS="0.3", STAND_IN_DIE_EXIT_CODE="137") as (process, url):
        wait_until_ready(url)
        assert process.wait(timeout=20) == 137


def test_a_crash_while_serving_ends_with_the_words_of_a_dead_engine() -> None:
    with serving(STAND_IN_DIE_AFTER_SECONDS="0.3") as (process, url):
        wait_until_ready(url)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert err.splitlines()[-1].startswith("vllm.v1.engine.exceptions.EngineDeadError: ")


def test_a_refused_profile_exits_with_1_and_its_cause_ends_standard_error() -> None:
    done = run(EAGLE, STAND_IN_REFUSES="eagle")
    assert done.returncode == 1
    assert "Value error, eagle is only supported for" in done.stderr.splitlines()[-2]


def test_a_profile_killed_for_memory_exits_with_137_after_its_load() -> None:
    settings = {"STAND_IN_STARTUP_BY_PROFILE": "eagle=0.8", "STAND_IN_KILLED_FOR_MEMORY": "eagle"}
    with serving(EAGLE, **settings) as (process, url):
        time.sleep(0.6)
        assert process.poll() is None
        assert not answers(url)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 137
    assert err == ""


def test_a_profile_that_never_becomes_ready_refuses_connections_and_hears_no_signal() -> None:
    with serving(EAGLE, STAND_IN_NEVER_READY="eagle") as (process, url):
        assert process.stdout is not None
        assert "API server version" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        time.sleep(0.8)
        assert process.poll() is None
        assert not answers(url)


def test_a_port_in_use_is_an_error_with_exit_code_1() -> None:
    with serving() as (_, url):
        wait_until_ready(url)
        done = run("--host", "127.0.0.1", "--port", url.rpartition(":")[2])
    assert done.returncode == 1
    assert "address already in use" in done.stderr


def test_starting_imports_nothing_of_the_operator() -> None:
    program = (
        "import sys; from ridgeline.sim.stand_in import main; main(['serve', 'm', '--bogus']); "
        "heavy = {'kopf', 'kubernetes', 'pydantic', 'typer', 'rich', 'yaml'} & set(sys.modules); "
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
