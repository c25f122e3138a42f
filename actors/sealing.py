"""Sealing: encryption of secrets and stored answers with the gateway's master key, AES-256-GCM (NIST SP 800-38D)."""

import hashlib
import hmac
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES = 12
_PROOF = b"Parley's master key"
_PROOF_PURPOSE = "proof"
_DIGEST_KEY = b"Parley's digests"


class WrongMasterKey(Exception):
    """The sealed value was made with another key, or altered."""


class Sealer:
    """Encrypts bytes with the master key, so that nobody without the key can read, alter or swap them.

    `purpose` names their kind and owner, e.g. `endpoint whe_...`; a sealed value opens only for its own purpose.
    """

    def __init__(self, master_key: bytes) -> None:
        self._cipher = AESGCM(master_key)
        self._digest_key = hmac.digest(master_key, _DIGEST_KEY, hashlib.sha256)

    def seal(self, plain: bytes, purpose: str) -> bytes:
        """Encrypt; the result is the nonce, the ciphertext and its tag."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plain, purpose.encode())

    def open(self, sealed: bytes, purpose: str) -> bytes:
        """Decrypt.

        Raises:
            WrongMasterKey: it was sealed with another key or for another purpose, or was altered.
        """
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], purpose.encode())
        except (InvalidTag, ValueError):
            raise WrongMasterKey("this was not sealed with the current master key") from None

    def digest(self, text: str, purpose: str) -> bytes:
        """Return a keyed digest to find a text by, so that nobody can test texts without the master key."""
        return hmac.digest(self._digest_key, f"{purpose}\0{text}".encode(), hashlib.sha256)

    def prove(self) -> bytes:
        """Seal a known value, for `check`."""
        return self.seal(_PROOF, _PROOF_PURPOSE)

    def check(self, proof: bytes) -> None:
        """Check that a proof was made with this key.

        Raises:
            WrongMasterKey: it was not.
        """
        self.open(proof, _PROOF_PURPOSE)
