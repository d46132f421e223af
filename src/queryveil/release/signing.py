"""Signatures of manifests: Ed25519 over the bytes of `manifest.json`, by keys in PEM files.

The package cryptography is imported only if a key is given. `openssl pkeyutl` can make and check the same signatures.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from queryveil.core.errors import InputError
from queryveil.core.extras import needs
from queryveil.core.files import read_input
from queryveil.release.manifest import MANIFEST_FILE, SIGNATURE_FILE

_PRIVATE, _PUBLIC = "--sign-key", "--key"


def load_signer(path: Path) -> Callable[[bytes], bytes]:
    """Return the function that signs with a private key; a key that others can read is refused."""
    data = read_input(path, _PRIVATE)
    if path.stat().st_mode & 0o077:
        raise InputError(f"{_PRIVATE}: {path} can be read or written by others; run chmod 600 on it, and try again.")
    key = _load(_PRIVATE, path, data, "private")
    sign: Callable[[bytes], bytes] = key.sign
    return sign


def signature_faults(key_file: Path, manifest: bytes, signature: bytes | None) -> list[str]:
    """Return whether a manifest lacks the signature of a public key's owner."""
    key = _load(_PUBLIC, key_file, read_input(key_file, _PUBLIC), "public")
    if signature is None:
        return [f"there is no {SIGNATURE_FILE}, so nobody signed {MANIFEST_FILE}"]
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, manifest)
    except InvalidSignature:
        return [f"{SIGNATURE_FILE} is not the signature of this {MANIFEST_FILE} by the key {key_file}"]
    return []


def _load(flag: str, path: Path, data: bytes, part: str) -> Any:
    """Return an Ed25519 key, the private or the public part."""
    with needs("sign", flag):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    try:
        if part == "private":
            key: Any = serialization.load_pem_private_key(data, None)
        else:
            key = serialization.load_pem_public_key(data)
    except TypeError:
        raise InputError(f"{flag}: {path} is encrypted; give a key without a passphrase.") from None
    except (ValueError, UnsupportedAlgorithm):
        raise InputError(f"{flag}: {path} is no {part} key in PEM form; give one.") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey | ed25519.Ed25519PublicKey):
        raise InputError(f"{flag}: {path} is no Ed25519 key; make one by openssl genpkey -algorithm ed25519.")
    return key
