"""How the two sides of a TLS connection are checked: whom we believe, and what we show."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from ridgeline.telemetry.errors import CredentialsError


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCertificate:
    """A certificate and its key, each in a PEM file without a pass phrase."""

    certificate_file: Path
    key_file: Path


def ssl_context(
    *, verify: bool, ca_file: Path | None, client_certificate: ClientCertificate | None
) -> ssl.SSLContext | bool:
    """What aiohttp's `ssl` argument takes: a context, or whether to verify.

    The files are read at every call, since mounted certificates rotate.

    Args:
        verify: Whether the server's certificate and name are checked.
        ca_file: Certificates to trust instead of the system's.
        client_certificate: What to show a server that asks for it.

    Raises:
        CredentialsError: A file cannot be read, or holds something else.
    """
    if ca_file is None and client_certificate is None:
        return verify
    try:
        context = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
    except (OSError, ssl.SSLError) as error:
        raise CredentialsError(
            f"ca_file {ca_file} cannot be used: {error}; mount a PEM file there"
        ) from error
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if client_certificate is not None:
        _load(context, client_certificate)
    return context


def _load(context: ssl.SSLContext, pair: ClientCertificate) -> None:
    try:
        # The password is given, and wrong, so that OpenSSL never asks a terminal for one.
        context.load_cert_chain(pair.certificate_file, pair.key_file, password="")
    except (OSError, ssl.SSLError) as error:
        raise CredentialsError(
            f"client certificate {pair.certificate_file} with key {pair.key_file} cannot be used: "
            f"{error}; mount a PEM certificate and its key, without a pass phrase"
        ) from error
