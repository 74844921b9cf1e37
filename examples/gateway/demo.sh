#!/bin/sh
# The main job on a gateway's Service: why, what would change, the edit. Works on a copy.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$(dirname "$0")/service.yaml" "$folder/"
cd "$folder"

show() {
    printf '\n$ kubectl lbipmode %s\n' "$*"
    # Exit status 1 says that something would change, as with kubectl diff.
    kubectl-lbipmode "$@" || [ $? -eq 1 ]
}

show explain -f service.yaml
show annotate --check -f service.yaml
show annotate --diff --quiet -f service.yaml
show annotate --in-place -f service.yaml
show annotate --check -f service.yaml
