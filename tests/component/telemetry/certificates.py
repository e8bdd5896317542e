"""Self-signed certificates of servers and clients, made by openssl."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ridgeline.telemetry.tls import ClientCertificate


@dataclass(frozen=True, kw_only=True)
class ServerSide:
    """A server's TLS context, and the file by which clients believe it."""

    context: ssl.SSLContext
    ca: Path


@dataclass(frozen=True, kw_only=True)
class ClientSide:
    """A client's certificate, and the file by which servers believe it."""

    pair: ClientCertificate
    ca: Path


def self_signed(folder: Path, stem: str, names: str) -> tuple[Path, Path]:
    """A certificate for some names (`DNS:a,IP:b`) and its key, as PEM files."""
    certificate, key = folder / f"{stem}.crt", folder / f"{stem}.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", f"/CN={stem}", "-keyout", str(key)]
    command += ["-addext", f"subjectAltName={names}", "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


def server_side(
    folder: Path, *, name: str = "", address: str = "", trusted: Path | None = None
) -> ServerSide:
    """A server for a name or an address; it asks for the certificate of clients when told whose."""
    certificate, key = self_signed(folder, "server", f"DNS:{name}" if name else f"IP:{address}")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=trusted)
    context.load_cert_chain(certificate, key)
    if trusted is not None:
        context.verify_mode = ssl.CERT_REQUIRED
    return ServerSide(context=context, ca=certificate)


def client_side(folder: Path) -> ClientSide:
    """A client."""
    certificate, key = self_signed(folder, "client", "DNS:operator")
    return ClientSide(
        pair=ClientCertificate(certificate_file=certificate, key_file=key), ca=certificate
    )
