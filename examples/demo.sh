#!/usr/bin/env bash
# Starts Cascada with a demo merchant, and the shop of examples/shop beside it. `make demo` calls this. It needs Go, Node.js and npm.
# CASCADA_PORT and SHOP_PORT choose ports; a port that is taken gets another one.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
made=$root/bin/demo
dist=$made/dist

die() {
  echo "demo: $*" >&2
  exit 1
}

quietly() { "$@" >"$made/run.log" 2>&1 || die "$*: $(cat "$made/run.log")"; }

for program in "${GO:-go}" node npm; do
  command -v "$program" >/dev/null || die "$program is needed: install it (Go from https://go.dev/dl/, node and npm from https://nodejs.org/) and run make demo again"
done
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 6) ? 0 : 1)' ||
  die "Node.js 20.6 or newer is needed, this is $(node --version)"

mkdir -p "$made"
rm -rf "$dist"
mkdir -p "$dist"
echo 'demo: building Cascada, the SDK and the shop (the first time takes a minute or two)'
(cd "$root" && CGO_ENABLED=0 quietly "${GO:-go}" build -trimpath -o bin/cascada ./cmd/cascada)
. "$root/sdk/typescript.sh"
pack_typescript "$dist"
. "$root/examples/build.sh"
exec node "$root/examples/demo.mjs" "$root/bin/cascada" "$shop"
