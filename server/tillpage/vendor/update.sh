#!/bin/sh
# Fetches a version of zxing-wasm from the npm registry, checks it and copies the reader.
#   ./update.sh             fetches the version that README.md names and compares the checksums
#   ./update.sh VERSION     fetches another version and writes its checksums
# npm checks the archive against the registry's integrity. Afterwards run
# go test ./server/tillpage, and .ci/browser -run TestTill.
set -eu
cd "$(dirname "$0")"
known=$(sed -n 's/^Version: //p' README.md)
version=${1:-$known}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(cd "$dir" && npm pack --silent "zxing-wasm@$version" && tar xzf "zxing-wasm-$version.tgz")
cp "$dir/package/dist/iife/reader/index.js" "$dir/zxing_reader.js"
cp "$dir/package/dist/reader/zxing_reader.wasm" "$dir/"
if [ "$version" = "$known" ]; then
  cp SHA256SUMS "$dir/"
  (cd "$dir" && sha256sum --check SHA256SUMS)
else
  (cd "$dir" && sha256sum zxing_reader.js zxing_reader.wasm) >SHA256SUMS
  sed -i "s/^Version: .*/Version: $version/" README.md
fi
cp "$dir/zxing_reader.js" .
gzip -9nc "$dir/zxing_reader.wasm" >zxing_reader.wasm.gz
cp "$dir/package/LICENSE" LICENSE-zxing-wasm
