#!/usr/bin/env bash
# Packs a copy of the checkout, whose own build stays as it is: pack-copy.sh FOLDER leaves sluice.tgz there.
# Needs what `npm ci` has installed in the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
mkdir "$folder/checkout"
cp -r src config docs package.json package-lock.json README.md LICENSE tsconfig.json tsconfig.build.json "$folder/checkout"
ln -s "$PWD/node_modules" "$folder/checkout/node_modules"
(cd "$folder/checkout" && timeout 300 npm pack --silent --pack-destination "$folder" >/dev/null)
mv "$folder"/sluice-*.tgz "$folder/sluice.tgz"
rm -rf "$folder/checkout"
