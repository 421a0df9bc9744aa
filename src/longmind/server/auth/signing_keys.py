"""Keys that verify web tokens: one secret, one public key, or a JWKS file from which `kid` picks.

Every key is bound to the configured algorithm. A public key never becomes the secret of HS256, whatever the header of a
token says: that is the classic algorithm-confusion attack. Weak keys are refused when the server starts.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from pathlib import Path
from typing import Any, Protocol

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from cryptography.x509 import load_pem_x509_certificate

from longmind.errors import InvalidInput, Unauthenticated
from longmind.settings import Settings

SHORTEST_SECRET = 32
SMALLEST_RSA = 2048
_GONE = (0, 0, 0)
_log = logging.getLogger("longmind.server")
_KINDS = {"HS256": "oct", "RS256": "RSA"}

SigningKey = Any
"""The bytes of a secret, or an RSA public key."""


class SigningKeys(Protocol):
    """The source of keys for token verification."""

    def pick(self, kid: object) -> SigningKey:
        """Return the key for a token with this `kid`. Raises Unauthenticated if there is none."""


class SingleSigningKey:
    """One key for all tokens, whatever `kid` they name."""

    def __init__(self, key: SigningKey) -> None:
        self._key = key

    def pick(self, kid: object) -> SigningKey:
        return self._key


class SigningKeyFile:
    """A JWKS file, which is read again whenever it changes. While it is malformed, the previous keys stay valid."""

    def __init__(self, path: Path, algorithm: str) -> None:
        self._path = path
        self._algorithm = algorithm
        self._lock = threading.Lock()
        self._seen = _get_stamp(path)
        self._keys = _read_keys(path, algorithm)

    def pick(self, kid: object) -> SigningKey:
        keys = self._current()
        if kid is None and len(keys) == 1:
            return next(iter(keys.values()))
        if not isinstance(kid, str) or kid not in keys:
            raise Unauthenticated("The token names an unknown signing key.", hint="Get a new token from its issuer.")
        return keys[kid]

    def _current(self) -> dict[str, SigningKey]:
        stamp = _get_stamp(self._path)
        if stamp != self._seen:
            with self._lock:
                if stamp != self._seen:
                    self._seen = stamp
                    try:
                        self._keys = _read_keys(self._path, self._algorithm)
                    except InvalidInput as error:
                        # The file may be half written; when the write ends, the stamp changes again. A deleted file,
                        # however, revokes its keys.
                        _log.warning("%s", error.message)
                        if stamp == _GONE:
                            self._keys = {}
        return self._keys


def open_signing_keys(settings: Settings) -> SigningKeys:
    """Return the keys that the settings name.

    Raises InvalidInput at start-up, not at the first request, if a key is missing, ambiguous or weak.
    """
    algorithm = settings.jwt_algorithm
    single = "jwt_secret" if algorithm == "HS256" else "jwt_public_key"
    given = [name for name in ("jwt_secret", "jwt_public_key", "jwt_jwks") if getattr(settings, name)]
    if given not in ([single], ["jwt_jwks"]):
        raise InvalidInput(
            f"jwt_algorithm is {algorithm}, but the settings name {' and '.join(given) or 'no key'}.",
            hint=f"Set either {single} or jwt_jwks, and remove the others.",
        )
    if settings.jwt_jwks:
        return SigningKeyFile(Path(settings.jwt_jwks), algorithm)
    if algorithm == "HS256":
        return SingleSigningKey(_check_secret("jwt_secret", settings.jwt_secret.encode()))
    return SingleSigningKey(_read_public_key(Path(settings.jwt_public_key)))


def _check_secret(name: str, secret: bytes) -> bytes:
    """Return a secret, or raise InvalidInput if it is too short or is in fact a public key."""
    if len(secret) < SHORTEST_SECRET:
        raise InvalidInput(
            f"{name} has only {len(secret)} bytes and can be guessed.",
            hint=f"Use at least {SHORTEST_SECRET} random bytes, for example from `openssl rand -hex 32`.",
        )
    if b"-----BEGIN" in secret:
        raise InvalidInput(f"{name} is a PEM file instead of a secret.", hint="Set jwt_algorithm to RS256.")
    return secret


def _read_public_key(path: Path) -> RSAPublicKey:
    """Read a public key or a certificate in PEM form."""
    text = _read("jwt_public_key", path)
    try:
        if b"-----BEGIN CERTIFICATE-----" in text:
            key = load_pem_x509_certificate(text).public_key()
        else:
            key = load_pem_public_key(text)  # type: ignore[assignment]
    except ValueError:
        raise InvalidInput(
            "The file of jwt_public_key does not contain a public key.",
            hint="Use a PEM file that begins with BEGIN PUBLIC KEY.",
        ) from None
    return _check_rsa_key("jwt_public_key", key)


def _check_rsa_key(name: str, key: object) -> RSAPublicKey:
    """Return a key, or raise InvalidInput if it is not RSA or too small."""
    if not isinstance(key, RSAPublicKey):
        raise InvalidInput(f"{name} is not an RSA public key.", hint="RS256 needs an RSA key of at least 2,048 bits.")
    if key.key_size < SMALLEST_RSA:
        raise InvalidInput(
            f"{name} has only {key.key_size:,} bits.", hint=f"Use a key of at least {SMALLEST_RSA:,} bits."
        )
    return key


def _read_keys(path: Path, algorithm: str) -> dict[str, SigningKey]:
    """Return the keys of a JWKS file for one algorithm, by `kid`; keys for other purposes are skipped."""
    try:
        entries = json.loads(_read("jwt_jwks", path))["keys"]
        usable = [entry for entry in entries if _is_usable(entry, algorithm)]
        keys = {str(entry.get("kid", "")): _parse_key(entry, algorithm) for entry in usable}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, jwt.PyJWTError):
        raise InvalidInput(
            "The file of jwt_jwks is not a JWKS.", hint='Use a file of the form {"keys": [{"kty": …}]}.'
        ) from None
    if len(keys) != len(usable):
        raise InvalidInput("Two keys in the file of jwt_jwks share a kid.", hint="Give each key its own kid.")
    if not keys:
        raise InvalidInput(
            f"The file of jwt_jwks has no key for {algorithm}.", hint="Add a key, or change jwt_algorithm."
        )
    return keys


def _is_usable(entry: dict[str, Any], algorithm: str) -> bool:
    return (
        entry["kty"] == _KINDS[algorithm]
        and entry.get("alg", algorithm) == algorithm
        and entry.get("use", "sig") == "sig"
        and "verify" in entry.get("key_ops", ["verify"])
    )


def _parse_key(entry: dict[str, Any], algorithm: str) -> SigningKey:
    if algorithm == "HS256":
        return _check_secret("A secret in jwt_jwks", jwt.algorithms.HMACAlgorithm.from_jwk(entry))
    # The private half can sign tokens; a server that only verifies must not keep it.
    public = {name: value for name, value in entry.items() if name not in ("d", "p", "q", "dp", "dq", "qi", "oth")}
    return _check_rsa_key("A key in jwt_jwks", jwt.algorithms.RSAAlgorithm.from_jwk(public))


def _read(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"The file of {name}, {path}, cannot be read: {error.strerror}.", hint="Check its path and permissions."
        ) from None


def _get_stamp(path: Path) -> tuple[int, int, int]:
    """Return a value that changes when the file does; zeros if it does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return _GONE
    return (status.st_mtime_ns, status.st_size, status.st_ino)
