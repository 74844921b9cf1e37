"""Services, as the tests write them."""

from tests.cluster.client import Object


def path(namespace: str, name: str = "", subresource: str = "") -> str:
    """Return where the API has the Services of a namespace, one of them, or a part of it."""
    parts = ("/api/v1/namespaces", namespace, "services", name, subresource)
    return "/".join(part for part in parts if part)


def load_balancer(name: str, **annotations: str) -> Object:
    """Return a Service of type LoadBalancer to create; annotations are those of Linode."""
    prefix = "service.beta.kubernetes.io/linode-loadbalancer-"
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name,
            "annotations": {
                prefix + word.replace("_", "-"): value for word, value in annotations.items()
            },
        },
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
    }


def with_addresses(*ingress: Object) -> Object:
    """Return a merge patch that puts these entries into the status."""
    return {"status": {"loadBalancer": {"ingress": list(ingress)}}}


def ingress(service: Object) -> list[Object]:
    """Return the load balancer's entries in a Service's status."""
    entries: list[Object] = service["status"]["loadBalancer"].get("ingress", [])
    return entries


def modes(service: Object) -> list[str | None]:
    """Return the mode of each entry."""
    return [entry.get("ipMode") for entry in ingress(service)]
