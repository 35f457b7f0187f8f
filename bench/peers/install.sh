#!/usr/bin/env bash
# Installs the programs that bench:peers compares Sluice with, each at a pinned version, into one folder outside the checkout.
# Nothing is started, no script of a package runs, and nothing of the system changes.
#
#   bash bench/peers/install.sh [--dir FOLDER] [nginx] [haproxy] [portkey] [litellm]
#
# Needs apt-get (with lists: apt-get update) for nginx and HAProxy, npm for Portkey, Python 3.10 to 3.13 with venv for LiteLLM.
set -euo pipefail

# nginx and HAProxy of Debian 12. Debian keeps the version and removes old builds of it, hence the asterisk.
NGINX='1.22.1-*'
HAPROXY='2.6.12-*'
# The dependencies of Portkey as they were on this day.
PORTKEY='1.15.2'
PORTKEY_BEFORE='2026-11-01'
# With a newer one, every streamed answer of Portkey is an error 500 (its issue 1389).
HONO_SERVER='1.13.8'
# LiteLLM 1.105.7 with all its dependencies. Releases 1.82.7, 1.82.8 and 1.107.0 were compromised: do not choose them.
LITELLM_LIST="$(cd "$(dirname "$0")" && pwd)/litellm.txt"

dir="${XDG_CACHE_HOME:-$HOME/.cache}/sluice-peers"
chosen=()
while [ $# -gt 0 ]; do
  case "$1" in
    --dir) dir=${2:?--dir needs a folder}; shift 2 ;;
    nginx | haproxy | portkey | litellm) chosen+=("$1"); shift ;;
    *) echo "unknown argument: $1" >&2; exit 2 ;;
  esac
done
[ ${#chosen[@]} -gt 0 ] || chosen=(nginx haproxy portkey litellm)
mkdir -p "$dir"
dir="$(cd "$dir" && pwd)"

# from_debian PACKAGE…: unpacks packages into the folder, without their scripts.
from_debian() {
  local packages
  packages="$(mktemp -d)"
  (cd "$packages" && apt-get download -q "$@")
  for package in "$packages"/*.deb; do dpkg -x "$package" "$dir/debian"; done
  rm -rf "$packages"
}

install_nginx() { from_debian "nginx=$NGINX"; }

# With the libraries that Debian's base system does not have.
install_haproxy() { from_debian "haproxy=$HAPROXY" liblua5.3-0 libopentracing-c-wrapper0 libopentracing1; }

install_portkey() {
  npm install --prefix "$dir/portkey" --ignore-scripts --omit=dev --no-audit --no-fund \
    "--before=$PORTKEY_BEFORE" "@portkey-ai/gateway@$PORTKEY" "@hono/node-server@$HONO_SERVER"
}

install_litellm() {
  python3 -m venv "$dir/litellm"
  # Wheels alone: a source package would run its own code.
  "$dir/litellm/bin/pip" install --quiet --only-binary :all: --no-deps -r "$LITELLM_LIST"
}

failed=0
for peer in "${chosen[@]}"; do
  # A subshell with errexit: a failure in the middle of an installation counts.
  set +e
  (set -e; "install_$peer")
  code=$?
  set -e
  if [ "$code" = 0 ]; then echo "$peer: installed in $dir"; else echo "$peer: FAILED" >&2; failed=1; fi
done
exit "$failed"
