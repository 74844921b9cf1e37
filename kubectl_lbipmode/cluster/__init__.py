"""The cluster: everything that talks to an API server, and the only importer of ``kubernetes``.

Objects are plain JSON throughout. The client library's typed models would drop what they do not
know (older ones ``ipMode`` itself) and cost a second to import; what we take from it is what it
does best: reading kubeconfigs, credentials that renew themselves, TLS, proxies. Its errors, and
those of the library below it, become ours here, and what they might leak stays here.
"""

from kubectl_lbipmode.cluster.kubeconfig import Access
from kubectl_lbipmode.cluster.server import APIServer, connect

__all__ = ["APIServer", "Access", "connect"]
