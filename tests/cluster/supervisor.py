"""The process that brings one cluster up, keeps it, and takes it down.

`python -m tests.cluster.supervisor STATE_DIR` speaks over its standard streams: it reads the
commands `go` (the network is attached; the spec is written), `keep` (live on after this stream
closes), and ends when the stream closes before that. It writes one JSON object per line: progress,
then `ready` or `error`. After that it listens on `control.sock` (see `control.py`).

For a full cluster it is the first process of its own pid, mount and network namespaces: however
it ends, the kernel ends every process of the cluster and takes its mounts and devices away.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from pathlib import Path

from tests.cluster import bringup
from tests.cluster.children import Children, Stopping
from tests.cluster.cleaning import remove_leftovers
from tests.cluster.component import Component
from tests.cluster.control import ControlServer, Request
from tests.cluster.errors import ClusterError
from tests.cluster.processes import HELD_BACK
from tests.cluster.spec import Spec, load_spec


class Supervisor:
    """One cluster's life."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._signalled = False
        self._kept = False
        self._input = b""
        (state_dir / "logs").mkdir()
        self._children = Children(state_dir / "logs", self._stop_wanted)
        self._components: dict[str, Component] = {}

    def run(self) -> int:
        """Until somebody ends it; 0 when it had been ready."""
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        # Its starter held them back while it noted this process down.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_BACK)
        try:
            return self._live()
        finally:
            self._children.stop_all()
            _end_all_others()
            remove_leftovers(self._state_dir)

    def _live(self) -> int:
        try:
            spec = self._wait_for_go()
            with ControlServer(self._state_dir / "control.sock") as control:
                self._bring_up(spec)
                pids = {"supervisor": os.getpid(), **self._children.pids()}
                self._tell(event="ready", pids=pids)
                self._serve(control)
        except Stopping:
            return 1
        except (ClusterError, OSError) as error:
            self._tell(event="error", text=str(error))
            return 1
        return 0

    def _bring_up(self, spec: Spec) -> None:
        begin = time.monotonic()
        for step in bringup.steps(spec, self._children, self._remember):
            self._tell(event="progress", text=step, after_s=time.monotonic() - begin)

    def _remember(self, component: Component) -> None:
        self._components[component.name] = component
        self._children.start(component)

    def _serve(self, control: ControlServer) -> None:
        while not self._stop_wanted():
            self._children.reap()
            request = control.next_request(timeout_s=0.2)
            if request is not None:
                request.answer(self._answer(request))

    def _answer(self, request: Request) -> dict[str, object]:
        component = self._components.get(request.name)
        if request.verb == "shutdown":
            self._signalled = True
        elif request.verb == "status":
            return {"running": self._children.pids(), "all": sorted(self._components)}
        elif component is None:
            return {"error": f"no component {request.name!r}; there are {list(self._components)}"}
        elif request.verb == "stop":
            self._children.stop(component.name)
        elif request.verb == "start" and component.name not in self._children.pids():
            self._children.start(component)
        return {"running": self._children.pids()}

    def _wait_for_go(self) -> Spec:
        while b"go\n" not in self._input:
            if self._stop_wanted():
                raise Stopping
            time.sleep(0.02)
        return load_spec((self._state_dir / "spec.json").read_text())

    def _stop_wanted(self) -> bool:
        if self._signalled:
            return True
        if self._kept:
            return False
        readable, _, _ = select.select([0], [], [], 0)
        if readable:
            data = os.read(0, 4096)
            self._input += data
            self._kept = b"keep\n" in self._input
            return not data
        return False

    def _on_signal(self, number: int, frame: object) -> None:
        self._signalled = True

    def _tell(self, **message: object) -> None:
        # Whoever started this may have gone; that is noticed at the other stream.
        try:
            print(json.dumps(message), flush=True)
        except BrokenPipeError:
            self._signalled = True


def _end_all_others() -> None:
    """As first process of a pid namespace: end all that is left in it, containers included."""
    if os.getpid() != 1:
        return
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return


if __name__ == "__main__":
    sys.exit(Supervisor(Path(sys.argv[1])).run())
