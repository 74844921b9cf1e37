"""The functionConfig: our own kind with booleans, or a ConfigMap.

A typo must not pass in silence, so unknown keys are refused, with the nearest key named.
``schema.json`` beside this file says the same to editors and validators; a test holds the two
together.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from kubectl_lbipmode.errors import InputError
from kubectl_lbipmode.manifests import Options
from kubectl_lbipmode.model import IPMode
from kubectl_lbipmode.rules import Wish

GROUP = "kubectl-lbipmode.github.io"
API_VERSION = f"{GROUP}/v1alpha1"
KIND = "LoadBalancerIPMode"

_KEYS = ("mode", "overwrite", "writeVIP", "remove")
_MODES = {"auto": None, "Proxy": IPMode.PROXY, "VIP": IPMode.VIP}
_TOP_LEVEL = ("apiVersion", "kind", "metadata")


def read_config(config: object) -> Options:
    """Return the options that *config*, a functionConfig as plain data, asks for.

    None and an empty mapping ask for nothing.

    Raises:
        InputError: it is of another kind, or holds an unknown key or a value of the wrong kind.
    """
    if config is None or config == {}:
        return Options()
    if not isinstance(config, dict):
        raise InputError("`functionConfig` must be an object")
    section = _section(config)
    _refuse_unknown(config, (*_TOP_LEVEL, section), "functionConfig")
    values = config.get(section)
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise InputError(f"`functionConfig.{section}` must be a mapping")
    _refuse_unknown(values, _KEYS, f"functionConfig.{section}")
    read = {key: _flag(values.get(key), f"functionConfig.{section}.{key}") for key in _KEYS[1:]}
    mode = _mode(values.get("mode"), f"functionConfig.{section}.mode")
    if read["remove"] and (mode or read["overwrite"] or read["writeVIP"]):
        raise InputError("`remove` excludes `mode`, `overwrite` and `writeVIP`")
    return Options(
        wish=Wish(mode, read["overwrite"]), write_vip=read["writeVIP"], remove=read["remove"]
    )


def _section(config: dict[str, Any]) -> str:
    """Return where the options of this kind stand."""
    kind = (config.get("apiVersion"), config.get("kind"))
    if kind == (API_VERSION, KIND):
        return "spec"
    if kind == ("v1", "ConfigMap"):
        return "data"
    raise InputError(
        f"`functionConfig` must be a v1 ConfigMap or a {API_VERSION} {KIND}, "
        f'not "{kind[0]} {kind[1]}"',
        hint="see docs/krm.md for both",
    )


def _refuse_unknown(values: dict[str, Any], known: tuple[str, ...], path: str) -> None:
    for key in values:
        if key in known:
            continue
        near = get_close_matches(str(key), known, n=1, cutoff=0.0)
        raise InputError(
            f"`{path}.{key}` is not known", hint=f"the nearest key is `{near[0]}`" if near else None
        )


def _mode(value: object, path: str) -> IPMode | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in _MODES:
        allowed = ", ".join(f'"{mode}"' for mode in _MODES)
        raise InputError(f'`{path}` must be one of {allowed}, not "{value}"')
    return _MODES[value]


def _flag(value: object, path: str) -> bool:
    """Read a boolean.

    A ConfigMap can only hold it as a string, but `kustomize fn run` writes those that it makes
    of its arguments without quotes.
    """
    in_config_map = ".data." in path
    if value is None:
        return False
    if isinstance(value, bool):
        return value
    if in_config_map and value in ("true", "false"):
        return value == "true"
    allowed = '"true" or "false"' if in_config_map else "true or false, without quotes"
    raise InputError(f"`{path}` must be {allowed}")
