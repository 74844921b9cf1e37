"""Is this cluster able? One function a check; each only reads, or writes with ``dryRun=All``.

A `View` reads what the checks look at. A check looks at one thing and says how it is, what that
means and what to do. `diagnosis` runs them all: what may not be read is a result, and so is what
is not known here. Something newer than this version must never make it fail.
"""

from kubectl_lbipmode.doctor.check import Check, Status
from kubectl_lbipmode.doctor.diagnosis import check_data, diagnose
from kubectl_lbipmode.doctor.view import View

__all__ = ["Check", "Status", "View", "check_data", "diagnose"]
