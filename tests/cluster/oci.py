"""Container images as OCI archives, made from folders without a registry or an engine."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar"
_CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
_MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"


@dataclass(frozen=True, kw_only=True)
class Layer:
    """An uncompressed layer tar; its digest is its diff id too."""

    file: Path
    digest: str
    size: int


@dataclass(frozen=True, kw_only=True)
class Image:
    """A named image: layers from the lowest up, and how its process starts."""

    name: str
    layers: tuple[Layer, ...]
    entrypoint: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    user: str = ""


def pack_layer(folder: Path, file: Path, *, keep_times: bool = False) -> None:
    """Write the folder's contents as a layer.

    Everything belongs to root and, unless `keep_times`, is dated 1970: the same contents give the
    same digest, wherever and by whomever they were packed.
    """
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(_walk(folder)):
            if path.is_socket():
                continue
            info = archive.gettarinfo(path, str(path.relative_to(folder)))
            if not keep_times:
                info.uid = info.gid = 0
                info.uname = info.gname = ""
                info.mtime = 0
            if info.isreg():
                with path.open("rb") as content:
                    archive.addfile(info, content)
            else:
                archive.addfile(info)


def read_layer(file: Path) -> Layer:
    """The layer in a tar."""
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return Layer(file=file, digest=f"sha256:{digest}", size=file.stat().st_size)


def write_archive(image: Image, file: Path, *, without: Collection[str] = ()) -> None:
    """Write the image as an OCI archive that `ctr images import` takes.

    Layers whose digests are in `without` are named but left out: the receiver has them already.
    """
    config = _encode(_config(image))
    manifest = _encode(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST_TYPE,
            "config": _descriptor(_CONFIG_TYPE, _digest(config), len(config)),
            "layers": [_descriptor(_LAYER_TYPE, one.digest, one.size) for one in image.layers],
        }
    )
    entry = _descriptor(_MANIFEST_TYPE, _digest(manifest), len(manifest))
    entry["annotations"] = {
        "io.containerd.image.name": image.name,
        "org.opencontainers.image.ref.name": image.name.rpartition(":")[2],
    }
    index = {"schemaVersion": 2, "manifests": [entry]}
    with tarfile.open(file, "w") as archive:
        _add(archive, "oci-layout", _encode({"imageLayoutVersion": "1.0.0"}))
        _add(archive, "index.json", _encode(index))
        for blob in (config, manifest):
            _add(archive, _blob_path(_digest(blob)), blob)
        for layer in image.layers:
            if layer.digest not in without:
                archive.add(layer.file, _blob_path(layer.digest))


def _config(image: Image) -> dict[str, object]:
    process = {
        "Entrypoint": list(image.entrypoint),
        "Env": [f"{key}={value}" for key, value in image.env.items()],
        "User": image.user,
    }
    return {
        "architecture": _architecture(),
        "os": "linux",
        "config": process,
        "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in image.layers]},
    }


def _architecture() -> str:
    machine = os.uname().machine
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def _walk(folder: Path) -> list[Path]:
    found = []
    for parent, folders, files in os.walk(folder):
        found += [Path(parent) / name for name in (*folders, *files)]
    return found


def _descriptor(media_type: str, digest: str, size: int) -> dict[str, object]:
    return {"mediaType": media_type, "digest": digest, "size": size}


def _encode(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _blob_path(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))
