"""A port of one's own, from before its server starts until after it ended.

To ask the kernel for a free port and give it back, for a server to take, is to hope that nobody
else gets it first. And a server that a test stops and starts again leaves its port free meanwhile.
So the port stays bound here. The server shares it, which needs SO_REUSEPORT on both sides (etcd
and kube-apiserver have an option for it). This side never listens: connections go to the server,
or are refused while there is none.
"""

import socket


class ReservedPort:
    """A free port on the loopback address, for one server."""

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number: int = self._socket.getsockname()[1]

    def close(self) -> None:
        """Give the port back."""
        self._socket.close()
