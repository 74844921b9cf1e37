#!/bin/sh
# Install what the tests of the data path need from Debian, unless it is there: nginx, HAProxy, and
# the tools of the kernel's packet filter.
set -eu

missing=""
for pair in conntrack:conntrack haproxy:haproxy iproute2:ip iptables:iptables nftables:nft \
    nginx-light:nginx socat:socat; do
    # A user's PATH need not have the folders of the administrator's programs.
    PATH="$PATH:/usr/sbin:/sbin" command -v "${pair#*:}" >/dev/null || missing="$missing ${pair%:*}"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "error: the tests of the data path need the programs of these Debian packages:$missing" >&2
    echo "hint: install what your distribution has in their place" >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "error: only root can install what the tests of the data path need:$missing" >&2
    echo "hint: sudo apt-get install$missing" >&2
    exit 1
fi

# The servers among them are for the tests to start, each with a configuration of its own. Debian
# would start them now, on port 80, and at every boot.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 130' INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
fi
echo "Installing$missing ..."
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086 -- a list of words
apt-get install -qq -y --no-install-recommends $missing >/dev/null
if [ -d /run/systemd/system ]; then
    for server in haproxy nginx; do
        case "$missing" in *"$server"*) systemctl disable --quiet "$server" ;; esac
    done
fi
