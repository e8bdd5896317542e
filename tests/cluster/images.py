"""The images of the cluster's Pods, in cached layers: only what changed is built again."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.cluster.errors import ClusterError, with_log_tail
from tests.cluster.locking import build_once
from tests.cluster.nodes import PAUSE_IMAGE, containerd_config
from tests.cluster.oci import Image, Layer, pack_layer, read_layer, write_archive
from tests.cluster.paths import REPO, cache_dir, content_key
from tests.cluster.processes import die_with_parent
from tests.cluster.progress import Progress
from tests.cluster.python_packages import compile_modules, install, pins

BUSYBOX_IMAGE = "ridgeline.dev/busybox:dev"
PYTHON_IMAGE = "ridgeline.dev/python:dev"
STAND_IN_IMAGE = "ridgeline.dev/vllm-stand-in:v0.32.0"

_BUSYBOX = Path("/bin/busybox")
_SUITE = "bookworm"
_INCLUDED = ("python3", "ca-certificates")
# What a Pod that runs Python never reads: half of the root file system.
_STRIPPED = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/i18n",
    "usr/share/perl5",
    "usr/bin/perl*",
    "usr/lib/*-linux-gnu/perl-base",
    "usr/lib/*-linux-gnu/gconv",
    "usr/lib/apt",
    "var/cache/apt/*",
    "var/cache/debconf/*",
    "var/lib/apt/*",
    "var/lib/dpkg/info",
    "var/log/*",
)
_STAND_IN_NEEDS = ("aiohttp", "prometheus-client")
_PACKAGES_IN_IMAGE = "/opt/packages"
_CODE_IN_IMAGE = "/opt/ridgeline"
_USER_ID = 65532
_VLLM = '#!/bin/sh\nexec python3 -m ridgeline.sim.stand_in "$@"\n'


def base_images(progress: Progress) -> tuple[Image, ...]:
    """The images that every node has from the start: pause, busybox, Python with packages."""
    key = content_key(_BUSYBOX.read_bytes(), inspect.getsource(_fill_busybox))
    busybox = _layer("busybox", key, _fill_busybox, progress)
    wait_for_ever = ("/bin/busybox", "tail", "-f", "/dev/null")
    return (
        Image(name=PAUSE_IMAGE, layers=(busybox,), entrypoint=wait_for_ever),
        Image(name=BUSYBOX_IMAGE, layers=(busybox,), env={"PATH": "/bin"}),
        _python_image(PYTHON_IMAGE, (debian_layer(progress), _packages_layer(progress))),
    )


def stand_in_image(progress: Progress) -> Image:
    """The image whose `vllm` is the project's stand-in for it, from the code as it is now."""
    code = REPO / "operator" / "ridgeline"
    files = sorted(path for path in code.rglob("*") if path.is_file() and not _is_cache(path))
    key = content_key(
        _VLLM,
        *(part for file in files for part in (str(file.relative_to(code)), file.read_bytes())),
    )
    layer = _layer("code", key, lambda folder: _fill_code(folder, code), progress)
    _keep_newest("layer-code-*")
    return _python_image(STAND_IN_IMAGE, (debian_layer(progress), _packages_layer(progress), layer))


def archive(image: Image, *, without: tuple[Image, ...] = ()) -> Path:
    """The image as an OCI archive in the cache, without the layers of the given images."""
    left_out = {layer.digest for other in without for layer in other.layers}
    key = content_key(repr(image), repr(sorted(left_out)))
    target = cache_dir() / "images" / f"archive-{key}.tar"
    if not target.exists():
        part = target.with_suffix(f".{time.monotonic_ns()}.part")
        write_archive(image, part, without=left_out)
        part.rename(target)
        _keep_newest("archive-*.tar")
    return target


def containerd_template(images: tuple[Image, ...], progress: Progress) -> Path:
    """A containerd root folder that holds the images, unpacked; nodes start from copies of it."""
    version = subprocess.run(["containerd", "--version"], check=True, capture_output=True).stdout
    key = content_key(version, *(repr(image) for image in images))
    folder = cache_dir() / "images" / f"containerd-{key}"
    return build_once(folder, lambda scratch: _fill_template(scratch, images, progress), progress)


def _python_image(name: str, layers: tuple[Layer, ...]) -> Image:
    env = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "PYTHONPATH": f"{_CODE_IN_IMAGE}:{_PACKAGES_IN_IMAGE}",
        "PYTHONUNBUFFERED": "1",
        "LANG": "C.UTF-8",
    }
    return Image(name=name, layers=layers, env=env, user=str(_USER_ID))


def _layer(
    name: str,
    key: str,
    fill: Callable[[Path], None],
    progress: Progress,
    *,
    times: bool = False,
) -> Layer:
    target = cache_dir() / "images" / f"layer-{name}-{key}"

    def build(scratch: Path) -> None:
        progress.say(f"building image layer {name}")
        with progress.step(f"built image layer {name}"):
            content = scratch / "content"
            content.mkdir()
            fill(content)
            pack_layer(content, scratch / "layer.tar", keep_times=times)
            shutil.rmtree(content)

    return read_layer(build_once(target, build, progress) / "layer.tar")


def _keep_newest(pattern: str, *, count: int = 20) -> None:
    """Every change of the code makes a layer and an archive; the old ones are of no use."""
    found = sorted((cache_dir() / "images").glob(pattern), key=lambda path: path.stat().st_mtime)
    for path in found[:-count]:
        _remove(path)


def _fill_busybox(folder: Path) -> None:
    (folder / "bin").mkdir()
    for name in ("etc", "tmp"):
        (folder / name).mkdir()
    (folder / "tmp").chmod(0o1777)
    (folder / "etc" / "passwd").write_text(f"root:x:0:0::/:/bin/sh\n{_passwd_line()}")
    shutil.copy(_BUSYBOX, folder / "bin" / "busybox")
    listing = subprocess.run([_BUSYBOX, "--list"], check=True, capture_output=True, text=True)
    for applet in listing.stdout.split():
        if applet != "busybox":
            (folder / "bin" / applet).symlink_to("busybox")


def debian_layer(progress: Progress) -> Layer:
    """A small Debian root file system with Python, and a user 65532."""
    key = content_key(_SUITE, *_INCLUDED, *_STRIPPED, inspect.getsource(_fill_debian))
    return _layer("debian", key, _fill_debian, progress, times=True)


def _fill_debian(folder: Path) -> None:
    # Namespaces of its own: its processes and mounts go with it, however it ends.
    own = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command = ["unshare", *own, "debootstrap", "--variant=minbase"]
    command += [f"--include={','.join(_INCLUDED)}", _SUITE, str(folder), _debian_mirror()]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if result.returncode != 0:
        raise ClusterError(with_log_tail("debootstrap failed", result.stdout))
    for pattern in _STRIPPED:
        for path in folder.glob(pattern):
            _remove(path)
    for device in (folder / "dev").iterdir():
        _remove(device)
    with (folder / "etc" / "passwd").open("a") as passwd:
        passwd.write(_passwd_line())
    with (folder / "etc" / "group").open("a") as group:
        group.write(f"nonroot:x:{_USER_ID}:\n")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _passwd_line() -> str:
    return f"nonroot:x:{_USER_ID}:{_USER_ID}::/tmp:/bin/sh\n"


def _debian_mirror() -> str:
    """The mirror this machine's own package manager uses.

    Raises:
        ClusterError: it uses none for Debian's main archive.
    """
    listing = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(COMPONENT) $(REPO_URI)"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    uris = [line.split()[1] for line in listing.splitlines() if line.startswith("main ")]
    mirror = next((uri for uri in uris if uri.rstrip("/").endswith("/debian")), None)
    if mirror is None:
        raise ClusterError(
            "apt's sources name no Debian mirror (an address ending in /debian), which the base "
            "image is made from; add one to /etc/apt/sources.list.d"
        )
    return mirror


def _packages_layer(progress: Progress) -> Layer:
    versions = pins(_STAND_IN_NEEDS)

    def fill(folder: Path) -> None:
        install(versions, folder / _PACKAGES_IN_IMAGE.lstrip("/"))

    return _layer("packages", content_key(repr(versions)), fill, progress)


def _is_cache(path: Path) -> bool:
    return "__pycache__" in path.parts


def _fill_code(folder: Path, code: Path) -> None:
    package = folder / _CODE_IN_IMAGE.lstrip("/") / "ridgeline"
    shutil.copytree(code, package, ignore=shutil.ignore_patterns("__pycache__"))
    compile_modules(package.parent)
    launcher = folder / "usr" / "local" / "bin" / "vllm"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(_VLLM)
    launcher.chmod(0o755)


def _fill_template(scratch: Path, images: tuple[Image, ...], progress: Progress) -> None:
    root = scratch.resolve()
    work = root.with_suffix(".work")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    socket = work / "s"
    config = work / "containerd.toml"
    config.write_text(containerd_config(root, work / "state", socket))
    with (work / "log").open("wb") as log:
        process = subprocess.Popen(
            ["unshare", "--mount", "containerd", "--config", str(config), "--log-level", "warn"],
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent,
        )
    try:
        with progress.step("unpacked the base images"):
            _wait_for(socket, process, work / "log")
            for image in images:
                _import(socket, image, work / "image.tar")
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(work)


def _import(socket: Path, image: Image, file: Path) -> None:
    write_archive(image, file)
    result = subprocess.run(
        ["ctr", "-a", str(socket), "-n", "k8s.io", "images", "import", str(file)],
        capture_output=True,
        check=False,
    )
    if result.returncode != 0:
        raise ClusterError(with_log_tail(f"importing {image.name} failed", result.stderr))


def _wait_for(socket: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 30
    while not socket.exists():
        if process.poll() is not None or time.monotonic() > end:
            raise ClusterError(with_log_tail("containerd did not start", log.read_bytes()))
        time.sleep(0.05)
