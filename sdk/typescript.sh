# Makes the archive of the TypeScript SDK. sdk/check.sh and examples/demo.sh source it with
#
#   root   the repository
#   dist   the folder that gets the archive
#
# and functions die and quietly. It sets node and work, where the archive's tools are, and defines tsc and install_sdk. The SDK is compiled
# without Node's types: it uses only what all runtimes have.
here=$root/sdk/typescript
work=$root/bin/sdk/typescript
oldest=20.6
. "$root/spec/node.sh"
rm -rf "$work/package"
mkdir -p "$work/package"
cp -r "$here/package.json" "$here/tsconfig.json" "$here/README.md" "$here/src" "$root/LICENSE" "$work/package/"
tsc() { quietly "$node" "$work/node_modules/typescript/bin/tsc" "$@"; }
tsc -p "$work/package"
(cd "$work/package" && quietly npm pack --ignore-scripts --pack-destination "$dist")

# install_sdk installs the archive into a project, as npm does from the registry, and the types of Node.js.
install_sdk() {
  (cd "$1" && quietly npm install --offline --ignore-scripts --omit=dev --no-audit --no-fund --no-save "$dist"/cascadapay-sdk-*.tgz)
  mkdir -p "$1/node_modules/@types"
  cp -r "$work/node_modules/@types/node" "$1/node_modules/@types/"
  cp -r "$work/node_modules/undici-types" "$1/node_modules/"
}
