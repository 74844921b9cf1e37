#!/usr/bin/env bash
# Render, annotate, and put the result where the next step publishes it from.
set -euo pipefail
mkdir -p rendered
kubectl kustomize . | kubectl lbipmode annotate -f - >rendered/manifests.yaml.new
# A failed run must not leave half a file to be published.
mv rendered/manifests.yaml.new rendered/manifests.yaml
