"""Signed manifests: whoever has the public key can tell that the manifest is the one that was signed."""

import builtins
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

import queryveil
from queryveil.cli import run
from tests.releases import edit_manifest, reseal

METHOD = "km(k=2, m=1)"


def write_keys(
    folder: Path, key: Any = None, encryption: KeySerializationEncryption | None = None
) -> tuple[Path, Path]:
    """Write a private and a public key; an Ed25519 key unless another is given."""
    key = ed25519.Ed25519PrivateKey.generate() if key is None else key
    private, public = folder / "key.pem", folder / "key.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption()))
    private.chmod(0o600)
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text("user,query\na,tea\nb,tea\nc,tea milk\nd,milk\n")
    return path


@pytest.fixture
def signed(tmp_path: Path, log: Path) -> tuple[Path, Path]:
    """Return a signed release and the public key."""
    private, public = write_keys(tmp_path)
    queryveil.anonymize(log, METHOD, tmp_path / "out", private=tmp_path / "secret", sign_key=private)
    return tmp_path / "out", public


def verify(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code = run(["verify", *map(str, arguments)])
    printed = capsys.readouterr()
    assert code == 0 or (printed.out + printed.err).count("\n") == 1
    return code, printed.out + printed.err


def test_a_signed_release_holds_with_the_key_and_without(
    signed: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out, key = signed
    assert len((out / "manifest.sig").read_bytes()) == 64
    code, said = verify(capsys, out)
    assert (code, said.splitlines()[1:]) == (
        0,
        ["warning: manifest.sig was not checked; give the signer's public key by --key."],
    )
    code, said = verify(capsys, out, "--key", key)
    assert (code, said.splitlines()[1:]) == (0, [f"The manifest is signed by the key {key}."])
    assert verify(capsys, out, "--key", key, "--private", out.parent / "secret")[0] == 0


@pytest.mark.skipif(not shutil.which("openssl") and "CI" not in os.environ, reason="openssl is not installed")
def test_openssl_accepts_the_signature(signed: tuple[Path, Path]) -> None:
    out, key = signed
    files = ["-inkey", str(key), "-in", str(out / "manifest.json"), "-sigfile", str(out / "manifest.sig")]
    subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-rawin", *files], check=True, capture_output=True)


def test_a_manifest_that_was_changed_and_sealed_again_is_found_by_the_key(
    signed: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out, key = signed
    counts = queryveil.load(out).manifest.record()["counts"]
    edit_manifest(out, counts=counts | {"before": dict.fromkeys(counts["before"], 1_000_000)})
    reseal(out)
    assert verify(capsys, out)[0] == 0  # nothing in the folder contradicts it
    code, text = verify(capsys, out, "--key", key)
    assert (code, "manifest.sig is not the signature of this manifest.json by the key" in text) == (1, True)


def test_another_key_and_a_missing_or_broken_signature_are_refused(
    signed: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, key = signed
    (tmp_path / "other").mkdir()
    _, other = write_keys(tmp_path / "other")
    code, text = verify(capsys, out, "--key", other)
    assert (code, "is not the signature of this manifest.json" in text) == (1, True)
    (out / "manifest.sig").write_bytes(b"short")
    assert verify(capsys, out, "--key", key)[0] == 1
    (out / "manifest.sig").unlink()
    code, text = verify(capsys, out, "--key", key)
    assert (code, "there is no manifest.sig, so nobody signed manifest.json" in text) == (1, True)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda key: key.unlink(), "cannot be read: No such file or directory; check the path."),
        (lambda key: key.write_text("key"), "is no private key in PEM form; give one."),
        (lambda key: key.write_bytes(key.with_suffix(".pub").read_bytes()), "is no private key in PEM form"),
        (lambda key: key.chmod(0o644), "can be read or written by others; run chmod 600 on it, and try again."),
        (
            lambda key: write_keys(key.parent, encryption=BestAvailableEncryption(b"secret")),
            "is encrypted; give a key without a passphrase.",
        ),
        (
            lambda key: write_keys(key.parent, rsa.generate_private_key(65537, 2048)),
            "is no Ed25519 key; make one by openssl genpkey -algorithm ed25519.",
        ),
    ],
)
def test_a_key_that_cannot_sign_is_refused_before_anything_is_written(
    tmp_path: Path, log: Path, change: Any, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key, _ = write_keys(tmp_path)
    change(key)
    code = run(["anonymize", str(log), "--method", METHOD, "--out", str(tmp_path / "out"), "--sign-key", str(key)])
    text = capsys.readouterr().err
    assert (code, text.count("\n")) == (2, 1)
    assert text.startswith(f"queryveil: --sign-key: {key} ") and says in text
    assert not (tmp_path / "out").exists()


def test_a_key_that_cannot_verify_is_refused(
    signed: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, key = signed
    code, text = verify(capsys, out, "--key", key.with_suffix(".pem"))
    assert (code, "is no public key in PEM form; give one." in text) == (2, True)
    write_keys(tmp_path, rsa.generate_private_key(65537, 2048))
    code, text = verify(capsys, out, "--key", key)
    assert (code, "is no Ed25519 key" in text) == (2, True)
    code, text = verify(capsys, tmp_path / "log.csv", "--claim", METHOD, "--key", key)
    assert (code, "--key goes with a queryveil release" in text) == (2, True)


def test_without_the_package_one_sentence_says_how_to_get_it(
    signed: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.startswith("cryptography"):
            raise ModuleNotFoundError(name=name)
        return found(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    code, text = verify(capsys, signed[0], "--key", signed[1])
    assert (code, text) == (
        2,
        "queryveil: --key needs the package cryptography; run pip install 'queryveil[sign]'.\n",
    )
