"""Sealing: secrets and kept answers under the gateway's master key, AES-256-GCM (product 9; NIST SP 800-38D)."""

import hashlib
import hmac
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_NONCE_BYTES = 12
_PROOF = b"Parley's master key"
_PROOF_PURPOSE = "proof"
_DIGEST_KEY = b"Parley's digests"


class WrongMasterKey(Exception):
    """What was sealed was sealed with another key, or altered."""


class Sealer:
    """Seals bytes so that only who has the master key can read them, and nobody can alter or swap them.

    `purpose` says what they are and whose, e.g. `endpoint whe_...`; a seal opens for its own purpose only.
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
            raise WrongMasterKey("this was not sealed with the present master key") from None

    def digest(self, text: str, purpose: str) -> bytes:
        """Digest a text that has to be found again, so that nobody without the master key can try texts on it."""
        return hmac.digest(self._digest_key, f"{purpose}\0{text}".encode(), hashlib.sha256)

    def prove(self) -> bytes:
        """Seal something known, for `check`."""
        return self.seal(_PROOF, _PROOF_PURPOSE)

    def check(self, proof: bytes) -> None:
        """Return whether a proof was made with this key.

        Raises:
            WrongMasterKey: it was not.
        """
        self.open(proof, _PROOF_PURPOSE)
