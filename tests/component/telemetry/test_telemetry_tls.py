"""Over real TLS: whose certificate is believed."""

import ssl
import subprocess
from pathlib import Path

import pytest

from tests.component.telemetry.fake_prometheus import error_of, fake_prometheus, read


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a self-signed certificate for 127.0.0.1 (`cert.pem`) and its key."""
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=prometheus", "-keyout", "key.pem"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", "cert.pem"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def server_side(certificate: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    return context


async def test_an_own_authority_is_believed_when_named(
    certificate: Path, server_side: ssl.SSLContext
) -> None:
    async with fake_prometheus(server_side) as fake:
        snapshot = await read(fake.endpoint(ca_file=certificate / "cert.pem"))
        assert snapshot.error is None
        assert snapshot.engines


async def test_a_stranger_is_not_believed(server_side: ssl.SSLContext) -> None:
    async with fake_prometheus(server_side) as fake:
        message = error_of(await read(fake.endpoint()))
        assert fake.requests == []
    assert "certificate verify failed" in message
    assert "check the endpoint's url, its certificate" in message


async def test_verification_can_be_switched_off(server_side: ssl.SSLContext) -> None:
    async with fake_prometheus(server_side) as fake:
        assert (await read(fake.endpoint(verify=False))).error is None
