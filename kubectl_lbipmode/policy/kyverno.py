"""The same policy for Kyverno, which runs on servers that are too old for one of their own.

A ``MutatingPolicy`` of ``policies.kyverno.io/v1`` speaks the same CEL and needs no binding.
(``ClusterPolicy`` could do it too, and is going away.) Kyverno makes a webhook of it, so each
status write waits for Kyverno, and passes as it is where Kyverno does not answer.
"""

from __future__ import annotations

from kubectl_lbipmode.policy.admission import Manifest, Terms, specify_mutation

GROUP_VERSION = "policies.kyverno.io/v1"

# Seconds that a status write waits for a Kyverno that is silent; ten by default.
_TIMEOUT = 2


def keep_mode(terms: Terms) -> list[Manifest]:
    """Return the MutatingPolicy that sets the mode on each status write.

    Raises:
        InputError: a selector cannot be read.
    """
    spec = {**specify_mutation(terms), "webhookConfiguration": {"timeoutSeconds": _TIMEOUT}}
    metadata = {"name": terms.name}
    return [
        {"apiVersion": GROUP_VERSION, "kind": "MutatingPolicy", "metadata": metadata, "spec": spec}
    ]
