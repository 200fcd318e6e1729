#!/usr/bin/env bash
# Proves that common tools accept the published OpenAPI documents. Redocly's strict
# rules and Spectral's find nothing in the merchants' document and the operators'.
# Four generators with their defaults make clients from the merchants' document; each
# client compiles, pays and refunds. Every operation of both documents is called, through
# a proxy that validates requests and replies. `make spec` calls this.
#
# It needs Node.js, and as root on Debian it installs it. If Node.js is older than the
# tools require, it gets a newer one for itself from the npm registry. Everything is
# kept in bin/spec, so a second run takes seconds.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
work=$root/bin/spec
server=
proxy=
desk=
data=

cleanup() {
  for process in $proxy $desk $server; do
    kill -TERM "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  if [ -n "$data" ]; then rm -rf "$data"; fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

die() {
  echo "spec: $*" >&2
  exit 1
}

. "$root/spec/node.sh"

# The documents as a service publishes them.
data=$(mktemp -d "${TMPDIR:-/tmp}/cascada-spec.XXXXXX")
: >"$data/log"
"$root/bin/cascada" serve --allow-private-webhooks --listen 127.0.0.1:0 --admin 127.0.0.1:0 --database "sqlite:$data/spec.db" >"$data/log" 2>&1 &
server=$!
until url=$(sed -n 's/.*msg="cascada is ready" url=\([^ ]*\).*/\1/p' "$data/log") && [ -n "$url" ]; do
  kill -0 "$server" 2>/dev/null || die "the service ended: $(cat "$data/log")"
  sleep 0.05
done
admin=$(sed -n 's/.*msg="the admin API is ready" url=\([^ ]*\).*/\1/p' "$data/log")
save() { "$node" -e 'fetch(process.argv[1]).then((r) => r.text()).then((t) => require("fs").writeFileSync(process.argv[2], t))' "$1" "$work/$2"; }
save "$url/api/openapi.json" openapi.json
save "$admin/openapi.json" admin.json

cp "$here"/*.{yaml,json,ts} "$work/"
mkdir -p "$work/oapi/shop"
cp "$here"/oapi/* "$work/oapi/"
cd "$work"
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
run() { "$node" "node_modules/$@" >run.log 2>&1 || die "$(cat run.log)"; }
run @redocly/cli/bin/cli.js lint --config redocly.yaml openapi.json admin.json
run @stoplight/spectral-cli/dist/index.js lint --fail-severity warn --ruleset spectral.yaml openapi.json admin.json

run openapi-typescript/bin/cli.js openapi.json -o cascada.d.ts
run @hey-api/openapi-ts/bin/run.js -i openapi.json -o hey
run orval/dist/bin/orval.mjs --input openapi.json --output orval/client.ts
(cd "$root" && go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -generate types,client -package shop "$work/openapi.json") >oapi/shop/shop.go
run typescript/bin/tsc -p tsconfig.json
run typescript/bin/tsc -p tsconfig.hey.json # its own code is less exact about absent properties
(cd oapi && go build -o ../oapi-client .)

# Prism is a proxy in front of the service. It answers with an error if the service's
# reply does not follow the document.
prism() { exec "$node" node_modules/@stoplight/prism-cli/dist/index.js proxy --errors --port 0 "$@"; }
prism openapi.json "$url/api/v1" >prism.log 2>&1 &
proxy=$!
prism admin.json "$admin" >desk.log 2>&1 &
desk=$!
# listening waits until a proxy listens, and prints its address.
listening() {
  until sed -n 's/.*is listening on \(http[^ ]*\).*/\1/p' "$2" | grep .; do
    kill -0 "$1" 2>/dev/null || die "Prism ended: $(cat "$2")"
    sleep 0.1
  done
}
SERVICE=$(listening "$proxy" prism.log)
DESK=$(listening "$desk" desk.log)
key() { sed -n "s/^ *$1 *\([ps]k_test_.*\)/\1/p" "$data/log"; }
TOKEN=$(key secret)
export TOKEN SERVICE
every=$("$node" "$here/every.mjs" openapi.json "$SERVICE" "$TOKEN" "$(key publishable)") || die 'an operation does not do what the document says'
operator=$("$root/bin/cascada" operator add spec --database "sqlite:$data/spec.db" | sed -n 's/^token *//p')
office=$("$node" "$here/admin.mjs" admin.json "$DESK" "$operator" "$url/api/v1" "$TOKEN") || die 'an operation of the admin API does not do what its document says'
for client in fetch hey orval; do
  run esbuild/bin/esbuild "$client.ts" --bundle --packages=external --platform=node --format=esm --outfile="$client.mjs"
  "$node" "$client.mjs" || die "the client of $client.ts fails"
done
./oapi-client || die 'the client of oapi-codegen fails'
echo "spec: the documents pass Redocly's strict rules and Spectral's, and four generated clients compile, pay and refund; $every of the merchants' API and $office of the admin API do as the documents say"
