"""`python -m tests.cluster up|env|down|status|run`: a Kubernetes cluster on this machine."""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
from collections.abc import Callable

from tests.cluster import registry
from tests.cluster.control import ask
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster
from tests.cluster.launch import Options, launch, running, take_down
from tests.cluster.progress import Progress
from tests.cluster.provide import provided
from tests.cluster.spec import Gpus, Level


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        command: Callable[[argparse.Namespace], int] = options.command
        return command(options)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; nothing was left behind", file=sys.stderr)
        return 130


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _up(options: argparse.Namespace) -> int:
    if (found := registry.find(options.name)) is not None:
        raise ClusterError(
            f"cluster {options.name!r} runs already in {found.state_dir}; "
            "take it down first, or choose another --name"
        )
    if (ended := registry.recall(options.name)) is not None:
        take_down(ended)
        registry.forget(options.name)
    launched = launch(_options(options), Progress())
    assert launched.cluster.state_dir is not None
    try:
        registry.remember(options.name, launched.cluster.state_dir)
        launched.keep()
    except BaseException:
        registry.forget(options.name)
        launched.end()
        raise
    _describe(launched.cluster)
    return 0


def _describe(cluster: Cluster) -> None:
    print(f"export KUBECONFIG={cluster.kubeconfig}")
    print(f"export RIDGELINE_KUBECONFIG={cluster.kubeconfig}")
    if cluster.prometheus_url is not None:
        print(f"export RIDGELINE_PROMETHEUS_URL={cluster.prometheus_url}")


def _env(options: argparse.Namespace) -> int:
    found = registry.find(options.name)
    if found is None:
        raise ClusterError(f"no cluster {options.name!r} runs; start it with `up`")
    _describe(found)
    return 0


def _down(options: argparse.Namespace) -> int:
    chosen = registry.names() if options.all else [options.name]
    for name in chosen:
        state_dir = registry.recall(name)
        if state_dir is None:
            print(f"there is no cluster {name!r}")
            continue
        take_down(state_dir)
        registry.forget(name)
        print(f"cluster {name!r} is gone")
    return 0


def _status(options: argparse.Namespace) -> int:
    """Code 0 when all remembered clusters are whole, 3 when a part of one is down, 4 for none."""
    code = 0 if registry.names() else 4
    for name in registry.names():
        state_dir = registry.recall(name)
        assert state_dir is not None
        if running(state_dir) is None:
            print(f"{name}: has ended; `down` clears {state_dir}")
            code = 3
            continue
        answer = ask(state_dir / "control.sock", "status")
        ended = sorted(set(answer["all"]) - set(answer["running"]))
        state = f"ended: {', '.join(ended)}" if ended else "running"
        print(f"{name}: {state}, in {state_dir}")
        code = 3 if ended else code
    if not registry.names():
        print("no cluster")
    return code


def _run(options: argparse.Namespace) -> int:
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not words:
        raise ClusterError("run: name the command after `--`")
    with provided(_options(options), Progress()) as cluster:
        process = subprocess.Popen(words, env=cluster.environment())
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            raise


def _options(options: argparse.Namespace) -> Options:
    return Options(
        level=Level(options.level),
        nodes=options.nodes,
        gpus=Gpus(per_node=options.gpus),
        scrape_interval_s=options.scrape_interval,
        yes=options.yes,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="up|env|down|status|run")
    start = argparse.ArgumentParser(add_help=False)
    start.add_argument("--level", choices=[str(level) for level in Level], default=str(Level.FULL))
    start.add_argument("--nodes", type=_count, default=4, help="how many (default 4)")
    start.add_argument("--gpus", type=_count, default=2, help="fake GPUs per node (default 2)")
    start.add_argument(
        "--scrape-interval", type=_seconds, default=5.0, help="Prometheus, in seconds (default 5)"
    )
    start.add_argument("--yes", action="store_true", help="install packages without asking")
    named = argparse.ArgumentParser(add_help=False)
    named.add_argument("--name", type=_name, default="default", help="(default: default)")

    up = commands.add_parser("up", parents=[start, named], help="start one and leave it running")
    up.set_defaults(command=_up)
    env = commands.add_parser("env", parents=[named], help="shell lines that point at it")
    env.set_defaults(command=_env)
    down = commands.add_parser("down", parents=[named], help="end it and remove all its traces")
    down.add_argument("--all", action="store_true", help="every one that `up` started")
    down.set_defaults(command=_down)
    status = commands.add_parser("status", help="what runs")
    status.set_defaults(command=_status)
    run = commands.add_parser("run", parents=[start], help="run a command on one of its own")
    run.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND …")
    run.set_defaults(command=_run)
    return parser


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 99:
        raise argparse.ArgumentTypeError(f"{text}: give a number from 1 to 99")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0.1 <= number <= 3600:
        raise argparse.ArgumentTypeError(f"{text}: give 0.1 to 3600 seconds")
    return number


def _name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,40}", text):
        raise argparse.ArgumentTypeError(f"{text}: use lower-case letters, digits and dashes")
    return text


if __name__ == "__main__":
    sys.exit(main())
