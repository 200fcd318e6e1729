#!/usr/bin/env bash
# Generates admin.go from the document of the admin API as the service publishes it. `make client` calls this.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
data=$(mktemp -d)
server=
cleanup() {
  if [ -n "$server" ]; then kill -TERM "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
  rm -rf "$data"
}
trap cleanup EXIT
"$root/bin/cascada" serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 --database "sqlite:$data/client.db" >"$data/log" 2>&1 &
server=$!
until url=$(sed -n 's/.*msg="the admin API is ready" url=\([^ ]*\).*/\1/p' "$data/log") && [ -n "$url" ]; do
  kill -0 "$server" 2>/dev/null || { cat "$data/log" >&2; exit 1; }
  sleep 0.05
done
curl -fsS "$url/openapi.json" >"$data/served.json"
cd "$root/client/admin/trim"
"${GO:-go}" run main.go <"$data/served.json" >../openapi.json
cd "$root"
"${GO:-go}" run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config client/admin/oapi-codegen.yaml client/admin/openapi.json
