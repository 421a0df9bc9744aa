"""The keys that tokens are checked with: one secret, one public key, or a file of several from which `kid` picks.

Each is held to the algorithm that is set: a public key never becomes the secret of HS256, whatever a token says.
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

Key = Any
"""Bytes of a secret, or an RSA public key."""


class SigningKeys(Protocol):
    def pick(self, kid: object) -> Key:
        """The key that a token with this `kid` has to be signed with."""


class OneKey:
    def __init__(self, key: Key) -> None:
        self._key = key

    def pick(self, kid: object) -> Key:
        return self._key


class KeyFile:
    """A JWKS file, read again when it has changed; while it cannot be understood, the keys stay what they were."""

    def __init__(self, path: Path, algorithm: str) -> None:
        self._path = path
        self._algorithm = algorithm
        self._lock = threading.Lock()
        self._seen = _stamp(path)
        self._keys = _read_keys(path, algorithm)

    def pick(self, kid: object) -> Key:
        keys = self._current()
        if kid is None and len(keys) == 1:
            return next(iter(keys.values()))
        if not isinstance(kid, str) or kid not in keys:
            raise Unauthenticated("The token names no key that is known here.", hint="Get a new one from its issuer.")
        return keys[kid]

    def _current(self) -> dict[str, Key]:
        stamp = _stamp(self._path)
        if stamp != self._seen:
            with self._lock:
                if stamp != self._seen:
                    self._seen = stamp
                    try:
                        self._keys = _read_keys(self._path, self._algorithm)
                    except InvalidInput as error:
                        # Somebody may be writing it: when that is done, the stamp changes again. One that was taken
                        # away was meant to be.
                        _log.warning("%s", error.message)
                        if stamp == _GONE:
                            self._keys = {}
        return self._keys


def open_signing_keys(settings: Settings) -> SigningKeys:
    """The keys that the settings name; said at once when they are missing or weak, and not with the first request."""
    algorithm = settings.jwt_algorithm
    single = "jwt_secret" if algorithm == "HS256" else "jwt_public_key"
    given = [name for name in ("jwt_secret", "jwt_public_key", "jwt_jwks") if getattr(settings, name)]
    if given not in ([single], ["jwt_jwks"]):
        raise InvalidInput(
            f"Tokens are checked with {algorithm}, and the settings name {' and '.join(given) or 'no key'}.",
            hint=f"Set {single} or jwt_jwks, and nothing else of them.",
        )
    if settings.jwt_jwks:
        return KeyFile(Path(settings.jwt_jwks), algorithm)
    if algorithm == "HS256":
        return OneKey(_secret("jwt_secret", settings.jwt_secret.encode()))
    return OneKey(_public_key(Path(settings.jwt_public_key)))


def _secret(name: str, secret: bytes) -> bytes:
    if len(secret) < SHORTEST_SECRET:
        raise InvalidInput(
            f"{name} has {len(secret)} bytes, which can be guessed.",
            hint=f"Take {SHORTEST_SECRET} random bytes or more, like those of `openssl rand -hex 32`.",
        )
    if b"-----BEGIN" in secret:
        raise InvalidInput(f"{name} is a key in PEM form, which is no secret.", hint="Set jwt_algorithm to RS256.")
    return secret


def _public_key(path: Path) -> RSAPublicKey:
    text = _read("jwt_public_key", path)
    try:
        if b"-----BEGIN CERTIFICATE-----" in text:
            key = load_pem_x509_certificate(text).public_key()
        else:
            key = load_pem_public_key(text)  # type: ignore[assignment]
    except ValueError:
        raise InvalidInput(
            "The file of jwt_public_key holds no public key.", hint="It is a file that begins with BEGIN PUBLIC KEY."
        ) from None
    return _strong("jwt_public_key", key)


def _strong(name: str, key: object) -> RSAPublicKey:
    if not isinstance(key, RSAPublicKey):
        raise InvalidInput(f"{name} is no RSA public key.", hint="RS256 needs one of 2,048 bits or more.")
    if key.key_size < SMALLEST_RSA:
        raise InvalidInput(f"{name} has {key.key_size:,} bits.", hint=f"Take one of {SMALLEST_RSA:,} bits or more.")
    return key


def _read_keys(path: Path, algorithm: str) -> dict[str, Key]:
    try:
        entries = json.loads(_read("jwt_jwks", path))["keys"]
        usable = [entry for entry in entries if _is_for_us(entry, algorithm)]
        keys = {str(entry.get("kid", "")): _key_of(entry, algorithm) for entry in usable}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, jwt.PyJWTError):
        raise InvalidInput("The file of jwt_jwks is no JWKS.", hint='It looks like {"keys": [{"kty": …}]}.') from None
    if len(keys) != len(usable):
        raise InvalidInput("Two keys of the file of jwt_jwks have one kid.", hint="Give each a kid of its own.")
    if not keys:
        raise InvalidInput(f"The file of jwt_jwks has no key for {algorithm}.", hint="Add one, or set jwt_algorithm.")
    return keys


def _is_for_us(entry: dict[str, Any], algorithm: str) -> bool:
    return (
        entry["kty"] == _KINDS[algorithm]
        and entry.get("alg", algorithm) == algorithm
        and entry.get("use", "sig") == "sig"
        and "verify" in entry.get("key_ops", ["verify"])
    )


def _key_of(entry: dict[str, Any], algorithm: str) -> Key:
    if algorithm == "HS256":
        return _secret("A secret in jwt_jwks", jwt.algorithms.HMACAlgorithm.from_jwk(entry))
    # Whoever holds the private half can sign: a server that only checks has no business with it.
    public = {name: value for name, value in entry.items() if name not in ("d", "p", "q", "dp", "dq", "qi", "oth")}
    return _strong("A key in jwt_jwks", jwt.algorithms.RSAAlgorithm.from_jwk(public))


def _read(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"The file of {name}, {path}, cannot be read: {error.strerror}.", hint="Check its path and its rights."
        ) from None


def _stamp(path: Path) -> tuple[int, int, int]:
    """What changes when a file does; zeros when it is not there."""
    try:
        about = os.stat(path)
    except OSError:
        return _GONE
    return (about.st_mtime_ns, about.st_size, about.st_ino)
