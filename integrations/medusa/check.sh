#!/usr/bin/env bash
# Installs Medusa, makes the packages of the SDK and of this plugin, installs them into a shop, and buys, refunds and cancels there,
# with PostgreSQL, the service and Chromium. `make medusa` calls this.
#
# Medusa is some 1,100 packages and 680 MB. They are kept in bin/medusa, so a second run downloads nothing. They have no lock file:
# the versions of Medusa, TypeScript and the browser's driver are pinned in e2e/shop/package.json.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
made=$root/bin/medusa
shop=$made/shop

die() {
  echo "medusa: $*" >&2
  exit 1
}

quietly() { "$@" >"$made/run.log" 2>&1 || die "$*: $(tail -n 60 "$made/run.log")"; }

command -v npm >/dev/null || die "Node.js and npm are needed"
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 12) || (a === 20 && b >= 19) ? 0 : 1)' ||
  die "Medusa needs Node.js 20.19 or 22.12, this is $(node --version)"
chromium=$(command -v chromium || command -v chromium-headless-shell) || die "chromium is needed"

mkdir -p "$shop"
if ! cmp -s "$here/e2e/shop/package.json" "$made/installed"; then
  rm -rf "$shop" "$made/installed"
  mkdir -p "$shop"
  cp "$here/e2e/shop/package.json" "$shop/"
  (cd "$shop" && quietly npm install --ignore-scripts --no-audit --no-fund --no-package-lock)
  cp "$here/e2e/shop/package.json" "$made/installed"
fi
rm -rf "$shop/src"
cp -r "$here/e2e/shop/." "$shop/"

# The packages, as npm makes them.
rm -rf "$made/dist" "$made/sdk" "$made/plugin" "$made/e2e" "$made/readme"
mkdir -p "$made/dist" "$made/sdk" "$made/plugin" "$made/e2e" "$made/readme"
cp -r "$root"/sdk/typescript/{package.json,tsconfig.json,README.md,src} "$root/LICENSE" "$made/sdk/"
cp -r "$here"/{package.json,tsconfig.json,README.md,src} "$root/LICENSE" "$made/plugin/"
cp -r "$here"/e2e/{package.json,tsconfig.json,src} "$made/e2e/"
tsc() { quietly node "$shop/node_modules/typescript/bin/tsc" "$@"; }
pack() { (cd "$1" && quietly npm pack --ignore-scripts --pack-destination "$made/dist"); }
install() { (cd "$shop" && quietly npm install --no-save --no-package-lock --prefer-offline --ignore-scripts --no-audit --no-fund "$made"/dist/*.tgz); }
tsc -p "$made/sdk"
pack "$made/sdk"
install # the plugin is compiled with the SDK's package
for each in plugin e2e; do ln -sfn "$shop/node_modules" "$made/$each/node_modules"; done
tsc -p "$made/plugin"
pack "$made/plugin"
install
tsc -p "$made/e2e"

# The snippets of the README and of the guide.
awk -v into="$made/readme" '$0 == "```" { file = "" } file != "" { print > file } $0 == "```ts" { file = into "/readme" ++n ".ts" }' "$here/README.md" "$root/internal/guide/text/medusa.md"
ln -sfn "$shop/node_modules" "$made/readme/node_modules"
echo '{}' >"$made/readme/package.json"
(cd "$made/readme" && tsc --noEmit --strict --skipLibCheck --target es2022 --lib es2023,dom --module nodenext --types node ./*.ts)

cd "$made/e2e"
SHOP_DIR=$shop CASCADA_BINARY=$root/bin/cascada CHROMIUM=$chromium exec node --test --test-reporter=spec "$@" made/medusa.test.js
