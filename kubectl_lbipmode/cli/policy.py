"""``kubectl lbipmode policy``: have the API server itself keep the modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubectl_lbipmode.cli.cluster_options import access_options
from kubectl_lbipmode.errors import ClusterError
from kubectl_lbipmode.policy import admission, kyverno
from kubectl_lbipmode.policy.admission import DEFAULT_NAME, Manifest, Terms
from kubectl_lbipmode.report import dump

if TYPE_CHECKING:
    from kubectl_lbipmode.cluster import Access

_FAILED = 1
# Seconds that a mere print waits for a server that could say something about it.
_PATIENCE = 2.0


@click.command("policy", short_help="Print the admission policy that keeps modes set.")
@click.option(
    "--name", default=DEFAULT_NAME, show_default=True, metavar="NAME", help="What it is called."
)
@click.option(
    "--namespace-selector",
    default="",
    metavar="SELECTOR",
    help="Only namespaces with these labels.",
)
@click.option(
    "-l", "--selector", default="", metavar="SELECTOR", help="Only Services with these labels."
)
@click.option(
    "--override-only", is_flag=True, help="Go by the override alone, without a look at the ports."
)
@click.option(
    "--fail-closed",
    is_flag=True,
    help="Refuse a write when the policy fails; else it passes as is.",
)
@click.option(
    "--kyverno", "by_kyverno", is_flag=True, help="For Kyverno: Kubernetes older than 1.36."
)
@click.option("--validate", is_flag=True, help="Instead, a policy that refuses a wrong override.")
@click.option("--remove", is_flag=True, help="Print what to delete, for `kubectl delete -f -`.")
@click.option("--check", is_flag=True, help="See whether it is in place and acts; exit 1 if not.")
@access_options
@click.option(
    "-o", "--output", type=click.Choice(["json", "yaml"]), help="Print it in this format."
)
def command(
    name: str,
    namespace_selector: str,
    selector: str,
    override_only: bool,
    fail_closed: bool,
    by_kyverno: bool,
    validate: bool,
    remove: bool,
    check: bool,
    access: Access,
    output: str | None,
) -> int:
    """Print a policy with which each write of a Service's status carries the right mode.

    The cloud controller's writes as well: nothing has to run, and no moment is missed. It needs
    Kubernetes 1.36 or newer, or Kyverno. --check must be given the options of the policy.

    \b
    Examples:
      kubectl lbipmode policy | kubectl apply -f -
      kubectl lbipmode policy --check
      kubectl lbipmode policy --remove | kubectl delete -f -
      # Refuse a Service whose override is misspelt
      kubectl lbipmode policy --validate | kubectl apply -f -
    """
    if validate and (by_kyverno or override_only or check):
        raise click.UsageError("--validate excludes --kyverno, --override-only and --check")
    if check and remove:
        raise click.UsageError("--check and --remove exclude each other")
    terms = Terms(name, namespace_selector, selector, fail_closed, override_only)
    if check:
        return _check(access, terms, output, by_kyverno=by_kyverno)
    if validate:
        manifests = admission.refuse_bad_override(terms)
    elif by_kyverno:
        manifests = kyverno.keep_mode(terms)
    else:
        manifests = admission.keep_mode(terms)
        if not remove:
            _warn_if_not_served(access)
    click.echo(_join(admission.identify(manifests) if remove else manifests, output), nl=False)
    return 0


def _join(manifests: list[Manifest], output: str | None) -> str:
    """Write *manifests* as documents of YAML, or as a List in JSON, as kubectl does."""
    if output != "json":
        return "---\n".join(dump(manifest, "yaml") for manifest in manifests)
    return dump({"apiVersion": "v1", "kind": "List", "items": manifests}, "json")


def _warn_if_not_served(access: Access) -> None:
    """Say on stderr if a cluster is at hand and cannot take the policy."""
    from dataclasses import replace

    from kubectl_lbipmode.cluster import connect
    from kubectl_lbipmode.policy.check import PolicyNotServedError, require_policies

    patience = _PATIENCE if access.timeout is None else access.timeout
    try:
        require_policies(connect(replace(access, timeout=patience)))
    except PolicyNotServedError as error:
        click.echo(f"warning: {error}", err=True)
        click.echo(f"hint: {error.hint}", err=True)
    except ClusterError:
        pass  # It may be meant for a repository: printing needs no cluster.


def _check(access: Access, terms: Terms, output: str | None, *, by_kyverno: bool) -> int:
    from dataclasses import asdict

    from kubectl_lbipmode.cluster import connect
    from kubectl_lbipmode.policy.check import State, check

    checks = list(check(connect(access), terms, by_kyverno=by_kyverno))
    if output:
        click.echo(dump([asdict(found) for found in checks], output), nl=False)
    else:
        for found in checks:
            click.echo(f"{found.state}: {found.message}")
            if found.hint:
                click.echo(f"hint: {found.hint}", err=True)
    return _FAILED if any(found.state is State.FAILED for found in checks) else 0
