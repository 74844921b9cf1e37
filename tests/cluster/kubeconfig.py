"""Files that tell a client where a server is and who is asking."""

import json
from pathlib import Path

from tests.cluster.certificates import Identity

User = dict[str, str]


def by_certificate(identity: Identity) -> User:
    """Return a user known by a certificate."""
    return {
        "client-certificate": str(identity.certificate),
        "client-key": str(identity.key),
    }


def by_token(token: str) -> User:
    """Return a user known by a bearer token, as a ServiceAccount is."""
    return {"token": token}


def write_kubeconfig(path: Path, server: str, authority: Path, user: User, namespace: str) -> Path:
    """Write a kubeconfig with one context, and return its path."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "test",
                "cluster": {"server": server, "certificate-authority": str(authority)},
            }
        ],
        "users": [{"name": "test", "user": user}],
        "contexts": [
            {
                "name": "test",
                "context": {"cluster": "test", "user": "test", "namespace": namespace},
            }
        ],
        "current-context": "test",
    }
    # JSON is YAML.
    path.write_text(json.dumps(config, indent=2))
    return path
