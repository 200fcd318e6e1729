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

. "$root/spec/node.sh"
mkdir -p "$work/calls"

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
