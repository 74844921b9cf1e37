#!/bin/sh
# The installed programs, away from the source tree: each one runs, and does its job.
set -eu
examples=$(cd "$(dirname "$0")/../examples" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

kubectl-lbipmode version
kubectl-lbipmode annotate --quiet <"$examples/gateway/service.yaml" >edited.yaml
diff "$examples/gateway/service.yaml" edited.yaml >changes || true
grep -c '^>' changes | grep -qx 1
grep -q '^>.*linode-loadbalancer-ip-mode: Proxy$' changes

printf 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n' >list.yaml
sed -e '/^#/d' -e '1,/^kind/!s/^/  /' -e 's/^apiVersion/- apiVersion/' -e 's/^kind/  kind/' \
    "$examples/gateway/service.yaml" >>list.yaml
lbipmode-fn <list.yaml | grep -q '^ *service.*/linode-loadbalancer-ip-mode: Proxy$'

test "$(kubectl_complete-lbipmode annotate --mode '' | sed -n 1p)" = auto
echo "wheel: ok"
