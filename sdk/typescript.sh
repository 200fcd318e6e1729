# What makes and installs the TypeScript SDK. sdk/tools.sh and examples/demo.sh source it with root, the repository, and functions die and
# quietly. It sets here, work and node, and defines tsc, pack_typescript and install_sdk.
here=$root/sdk/typescript
work=$root/bin/sdk/typescript
oldest=20.6
mkdir -p "$work"
. "$root/spec/node.sh"
compiler=$work/node_modules/typescript/bin/tsc
tsc() { quietly "$node" "$compiler" "$@"; }

# pack_typescript makes the archive in a folder. The SDK is compiled without Node's types: it uses only what all runtimes have.
pack_typescript() {
  local package=$root/bin/sdk/typescript/package
  rm -rf "$package"
  mkdir -p "$package"
  cp -r "$root/sdk/typescript"/{package.json,tsconfig.json,README.md,src} "$root/LICENSE" "$package/"
  tsc -p "$package"
  (cd "$package" && quietly npm pack --ignore-scripts --pack-destination "$1")
}

# install_sdk installs the archive of a folder into a project, as npm does from the registry, and the types of Node.js.
install_sdk() {
  local tools=$root/bin/sdk/typescript/node_modules
  (cd "$2" && quietly npm install --offline --ignore-scripts --omit=dev --no-audit --no-fund --no-save "$1"/cascadapay-sdk-*.tgz)
  mkdir -p "$2/node_modules/@types"
  cp -r "$tools/@types/node" "$2/node_modules/@types/"
  cp -r "$tools/undici-types" "$2/node_modules/"
}
