"""The inputs that are measured: realistic documents, made by rule, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

PREFIX = "service.beta.kubernetes.io/linode-loadbalancer-"
_EVERY = 10  # One object in ten is a LoadBalancer Service, the rest are ConfigMaps.


def write_stream(path: Path, count: int) -> None:
    """Write *count* documents of about one kilobyte."""
    path.write_text("---\n".join(_objects(count)), encoding="utf-8")


def write_big_config_map(path: Path, size: int) -> None:
    """Write one ConfigMap whose only value has *size* bytes."""
    line = "    the quick brown fox jumps over the lazy dog, again and again\n"
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: big\ndata:\n  text: |\n"
    path.write_text(head + line * (size // len(line)), encoding="utf-8")


def write_resource_list(path: Path, count: int) -> None:
    """Write a ResourceList of *count* items, as kustomize sends it."""
    with path.open("w", encoding="utf-8") as file:
        file.write("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
        for text in _objects(count):
            first, *rest = text.splitlines()
            file.write(f"- {first}\n")
            file.writelines(f"  {line}\n" for line in rest)


def _objects(count: int) -> Iterator[str]:
    for index in range(count):
        yield _config_map(index) if index % _EVERY else _service(index)


def _service(index: int) -> str:
    labels = "".join(f"    label-{n}: value-{n}-of-{index}\n" for n in range(10))
    return f"""\
# The gateway of team {index}
apiVersion: v1
kind: Service
metadata:
  name: gateway-{index}
  namespace: team-{index}
  labels:
{labels}  annotations:
    {PREFIX}default-proxy-protocol: v2  # as the entry points expect
    {PREFIX}check-type: connection
spec:
  type: LoadBalancer
  selector:
    app.kubernetes.io/name: gateway-{index}
  ports:
  - name: web
    port: 80
    targetPort: 8080
  - name: websecure
    port: 443
    targetPort: 8443
"""


def _config_map(index: int) -> str:
    data = "".join(
        f'  key-{n}: "value {n} of {index}, as long as values in the wild are"  # note {n}\n'
        for n in range(13)
    )
    return f"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings-{index}
  namespace: team-{index}
data:
{data}"""
