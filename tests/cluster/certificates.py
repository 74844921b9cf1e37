"""Certificates of a control plane: one authority, and whom it vouches for.

Kubernetes takes a client's name and groups from its certificate: the common name is the user, each
organization a group. A member of `system:masters` may do everything, whatever RBAC says.
"""

import ssl
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Identity:
    """Files that prove who someone is."""

    certificate: Path
    key: Path


class Credentials:
    """All that a control plane needs, made anew in a folder."""

    def __init__(self, folder: Path) -> None:
        import trustme  # loads all of OpenSSL, which a run without a control plane can spare

        ca = trustme.CA()
        self.authority = folder / "ca.crt"
        ca.cert_pem.write_to_path(self.authority)

        def issue(name: str, group: str | None = None) -> Identity:
            issued = ca.issue_cert("127.0.0.1", common_name=name, organization_name=group)
            identity = Identity(folder / f"{name}.crt", folder / f"{name}.key")
            issued.cert_chain_pems[0].write_to_path(identity.certificate)
            issued.private_key_pem.write_to_path(identity.key)
            return identity

        self.administrator = issue("administrator", "system:masters")
        self.server = issue("server")
        self.token_signer = issue("token-signer")

    def trust(self, identity: Identity | None = None) -> ssl.SSLContext:
        """Return the settings of a client that trusts this authority alone."""
        context = ssl.create_default_context(cafile=self.authority)
        if identity:
            context.load_cert_chain(identity.certificate, identity.key)
        return context
