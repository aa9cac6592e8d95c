#!/bin/sh
# Installs punchcard from a release: finds the archive of this system in the release's
# checksums.txt, downloads it, checks its sum and puts the program into a folder. It needs no
# root, and curl or wget. If anything fails, it leaves what was there before.
#   install.sh [--to FOLDER] [--key KEY] [URL]
#     URL       the folder of the release; default: the variable PUNCHCARD_RELEASES
#     --to      where the program goes; default: the variable PUNCHCARD_BIN, else ~/.local/bin
#     --key     a public key of OpenSSH, such as "ssh-ed25519 AAAA…", by which checksums.txt must
#               be signed; default: the variable PUNCHCARD_KEY, else no signature is checked
set -eu

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# find_tools sets get to what downloads and sum to what makes sums.
find_tools() {
  if has curl; then
    get="curl -fsSL --proto-redir =https -o"
  elif has wget; then
    get="wget -q -O"
  else
    fail "neither curl nor wget is installed"
  fi
  if has sha256sum; then
    sum=sha256sum
  elif has shasum; then
    sum="shasum -a 256"
  else
    fail "neither sha256sum nor shasum is installed, so a download cannot be checked"
  fi
  [ -z "$key" ] || has ssh-keygen || fail "ssh-keygen is not installed, so the signature cannot be checked"
}

# fetch downloads a file of the release into tmp.
fetch() {
  # shellcheck disable=SC2086 # get is a command with flags
  $get "$tmp/$1" "$base/$1" || fail "$base/$1 cannot be downloaded"
}

# find_platform sets platform to the end of the name of the archive of this system.
find_platform() {
  system=$(uname -s)
  machine=$(uname -m)
  case $system in
    Linux) platform=linux ;;
    Darwin) platform=macos ;;
    MINGW* | MSYS* | CYGWIN*) fail "on Windows, unpack the .zip of the release or use Scoop" ;;
    *) fail "there is no release for the system $system" ;;
  esac
  case $platform/$machine in
    */x86_64 | */amd64) platform=${platform}_amd64 ;;
    */aarch64 | */arm64) platform=${platform}_arm64 ;;
    linux/armv7* | linux/armv8*) platform=${platform}_armv7 ;;
    *) fail "there is no release for $system on $machine" ;;
  esac
}

# find_archive sets archive, want and version to the name of this system's archive in
# checksums.txt, its sum and its version.
find_archive() {
  archive=
  while read -r hash name; do
    case $name in
      *[!A-Za-z0-9._-]*) continue ;;
      punchcard_*_"$platform".tar.gz) ;;
      *) continue ;;
    esac
    [ -z "$archive" ] || fail "$base/checksums.txt names two archives for $platform"
    archive=$name
    want=$hash
  done <"$tmp/checksums.txt"
  [ -n "$archive" ] || fail "$base/checksums.txt names no archive for $platform"
  version=${archive#punchcard_}
  version=${version%"_$platform.tar.gz"}
}

# check_signature checks that the key has signed checksums.txt.
check_signature() {
  fetch checksums.txt.sig
  printf 'punchcard namespaces="punchcard" %s\n' "$key" >"$tmp/signers"
  ssh-keygen -Y verify -q -f "$tmp/signers" -I punchcard -n punchcard -s "$tmp/checksums.txt.sig" \
    <"$tmp/checksums.txt" >/dev/null 2>&1 || fail "$base/checksums.txt is not signed by the key"
}

# install_program puts the program into the folder, by a rename.
install_program() {
  dir=${archive%.tar.gz}
  tar -xzf "$tmp/$archive" -C "$tmp" "$dir/punchcard" || fail "$archive cannot be unpacked"
  mkdir -p "$folder" || fail "the folder $folder cannot be made: name another with --to"
  [ ! -d "$folder/punchcard" ] || fail "$folder/punchcard is a folder: name another folder with --to"
  new=$(mktemp "$folder/.punchcard.XXXXXX") || fail "$folder cannot be written: name another folder with --to"
  cat "$tmp/$dir/punchcard" >"$new" || fail "$folder cannot be written"
  chmod 755 "$new"
  [ "$("$new" --version)" = "punchcard $version" ] || fail "the program of $archive does not run here"
  mv -f "$new" "$folder/punchcard" || fail "$folder/punchcard cannot be replaced"
}

main() {
  base=${PUNCHCARD_RELEASES:-}
  folder=${PUNCHCARD_BIN:-${HOME:+$HOME/.local/bin}}
  key=${PUNCHCARD_KEY:-}
  while [ $# -gt 0 ]; do
    case $1 in
      --to | --key)
        [ -n "${2:-}" ] || fail "$1 needs a value"
        if [ "$1" = --to ]; then folder=$2; else key=$2; fi
        shift
        ;;
      -*) fail "unknown flag $1; write: install.sh [--to FOLDER] [--key KEY] [URL]" ;;
      *) base=$1 ;;
    esac
    shift
  done
  base=${base%/}
  case $base in
    "") fail "name the URL of the release, or set PUNCHCARD_RELEASES" ;;
    http://127.0.0.1*@* | http://localhost*@*) fail "$base has a user, for which it must be https" ;;
    https://* | http://127.0.0.1[:/]* | http://localhost[:/]*) ;;
    http://*) [ -n "$key" ] || fail "$base is not https, so it needs --key" ;;
    *) fail "\"$base\" is not the URL of a release" ;;
  esac
  [ -n "$folder" ] || fail "HOME is not set: name the folder with --to"

  find_platform
  find_tools
  tmp=$(mktemp -d)
  new=
  trap 'rm -rf "$tmp" ${new:+"$new"}' EXIT
  trap 'exit 1' HUP INT TERM
  fetch checksums.txt
  [ -z "$key" ] || check_signature
  find_archive
  fetch "$archive"
  got=$($sum "$tmp/$archive")
  got=${got%% *}
  [ "$got" = "$want" ] || fail "the sum of $archive is $got, and checksums.txt says $want"
  install_program

  echo "punchcard $version is installed as $folder/punchcard."
  case :$PATH: in
    *:"$folder":*) echo "Try it: punchcard dev" ;;
    *)
      echo "The folder is not in your PATH. Add it: export PATH=\"$folder:\$PATH\""
      echo "Try it: $folder/punchcard dev"
      ;;
  esac
}

main "$@"
