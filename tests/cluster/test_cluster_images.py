"""Image archives: the layout that containerd reads, and layers that depend on content alone."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from pathlib import Path

import pytest

from tests.cluster.oci import Image, Layer, pack_layer, read_layer, write_archive


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    content = tmp_path / "content"
    (content / "bin").mkdir(parents=True)
    program = content / "bin" / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (content / "bin" / "alias").symlink_to("program")
    return content


def _layer(folder: Path, file: Path) -> Layer:
    pack_layer(folder, file)
    return read_layer(file)


def _read(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {
            member.name: extracted.read()
            for member in tar
            if (extracted := tar.extractfile(member)) is not None
        }


def test_the_same_content_gives_the_same_layer(folder: Path, tmp_path: Path) -> None:
    first = _layer(folder, tmp_path / "a.tar")
    os.utime(folder / "bin" / "program", (1, 1))
    assert _layer(folder, tmp_path / "b.tar").digest == first.digest
    (folder / "bin" / "program").write_text("#!/bin/sh\nexit 1\n")
    assert _layer(folder, tmp_path / "c.tar").digest != first.digest


def test_a_layer_keeps_modes_and_links_and_belongs_to_root(folder: Path, tmp_path: Path) -> None:
    pack_layer(folder, tmp_path / "layer.tar")
    with tarfile.open(tmp_path / "layer.tar") as tar:
        members = {member.name: member for member in tar}
    assert members["bin/program"].mode == 0o755
    assert members["bin/alias"].linkname == "program"
    assert {(member.uid, member.gid) for member in members.values()} == {(0, 0)}


def test_every_blob_of_an_archive_has_the_digest_it_is_named_by(
    folder: Path, tmp_path: Path
) -> None:
    layer = _layer(folder, tmp_path / "layer.tar")
    image = Image(name="x.dev/y:z", layers=(layer,), entrypoint=("/bin/program",), user="65532")
    write_archive(image, tmp_path / "image.tar")
    files = _read(tmp_path / "image.tar")
    blobs = {name: data for name, data in files.items() if name.startswith("blobs/sha256/")}
    assert len(blobs) == 3
    for name, data in blobs.items():
        assert name == f"blobs/sha256/{hashlib.sha256(data).hexdigest()}"

    (entry,) = json.loads(files["index.json"])["manifests"]
    assert entry["annotations"]["io.containerd.image.name"] == "x.dev/y:z"
    manifest = json.loads(_blob(files, entry["digest"]))
    config = json.loads(_blob(files, manifest["config"]["digest"]))
    assert [one["digest"] for one in manifest["layers"]] == [layer.digest]
    assert config["rootfs"]["diff_ids"] == [layer.digest]
    assert config["config"]["Entrypoint"] == ["/bin/program"]
    assert config["config"]["User"] == "65532"


def test_an_archive_names_the_layers_it_leaves_out(folder: Path, tmp_path: Path) -> None:
    base = _layer(folder, tmp_path / "base.tar")
    (folder / "code").write_text("print()\n")
    code = _layer(folder, tmp_path / "code.tar")
    image = Image(name="x.dev/y:z", layers=(base, code))
    write_archive(image, tmp_path / "thin.tar", without={base.digest})
    files = _read(tmp_path / "thin.tar")
    (entry,) = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(_blob(files, entry["digest"]))
    assert [one["digest"] for one in manifest["layers"]] == [base.digest, code.digest]
    assert f"blobs/{base.digest.replace(':', '/')}" not in files
    assert f"blobs/{code.digest.replace(':', '/')}" in files


def _blob(files: dict[str, bytes], digest: str) -> bytes:
    return files[f"blobs/{digest.replace(':', '/')}"]
