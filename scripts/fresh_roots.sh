#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and tests the current commit where nothing is installed, or installs the packages in build/packages there: in
# bare roots of Debian and Ubuntu, made anew by mmdebstrap, from a clean clone. Takes root's rights and about 3 GB a
# root; logs are left in build/fresh_roots.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'HELP'
usage: scripts/fresh_roots.sh [--demo-only | --packages] [--keep] [ROOT..]

Runs `./dev demo` and `./dev test` in each root: bookworm and trixie (Debian 12 and 13), noble (Ubuntu 24.04); all of
them where none is named. A root whose archive cannot be reached, or whose keys are not here, is skipped.
  --demo-only  leave out `./dev test`
  --packages   run scripts/try_packages.sh instead, which installs, uses and purges the packages in build/packages, as
               `./dev package` leaves them
  --keep       leave the roots where they were made, to look into them
The mirror is that of this machine's apt; for an origin that apt does not know, SPANSORT_MIRROR=URL says it, and a root
without a mirror is skipped. Apt's settings are taken over, proxies among them.
SPANSORT_ROOTS=DIR says where roots are made (default: a temporary folder); SPANSORT_JOBS is passed on.
HELP
}

say() { printf '== %s\n' "$*"; }
fail() { printf 'fresh_roots: %s\n' "$*" >&2; exit 2; }

# ---- the system's apt

# mirror_of <origin>: what this machine's apt fetches packages of that origin from; else SPANSORT_MIRROR, which may be
# empty.
mirror_of() {
  local mirror=''
  if command -v apt-get >/dev/null; then
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Origin: $1" "Label: $1" 2>/dev/null |
      grep -m 1 '^http') || true
  fi
  echo "${mirror:-${SPANSORT_MIRROR:-}}"
}

# Writes what a root's apt needs to reach the archive as this machine's does.
write_apt_settings() { apt-config dump 2>/dev/null | grep -E '^Acquire::(http|https|ftp|Check|Retries|Max)' >"$1" || true; }

# why_not <suite> <mirror> <keyring>: prints why the root cannot be made, nothing where it can.
why_not() {
  if [[ -z $2 ]]; then
    echo "this machine's apt knows no mirror of it (SPANSORT_MIRROR=URL names one)"
  elif [[ ! -r $3 ]]; then
    echo "the archive's keys are not in $3"
  elif ! /usr/lib/apt/apt-helper download-file "${2%/}/dists/$1/InRelease" "$work/InRelease" >/dev/null 2>&1; then
    echo "the archive cannot be reached"
  fi
}

# ---- one root

# make_root <suite> <mirror> <keyring> <components>
make_root() {
  mmdebstrap --quiet --variant=minbase --include=apt,git,ca-certificates --components="$4" --keyring="$3" \
    --aptopt="$work/apt.conf" "$1" "$work/$1" "$2" || return
  git clone --quiet --no-hardlinks . "$work/$1/spansort" || return
  git -C "$work/$1/spansort" checkout --quiet --detach "$commit" || return
  cp --dereference /etc/resolv.conf "$work/$1/etc/resolv.conf"
  if [[ ${verbs[*]} == packages ]]; then
    mkdir -p "$work/$1/spansort/build/packages"
    cp build/packages/*.deb "$work/$1/spansort/build/packages/" || return
  fi
}

# inside <suite> <command...>: in name spaces of its own, so that no mount and no process is left behind.
inside() {
  local root=$work/$1 settings=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8) name
  shift
  for name in SPANSORT_JOBS http_proxy https_proxy no_proxy; do
    if [[ -n ${!name:-} ]]; then settings+=("$name=${!name}"); fi
  done
  # The single quotes are meant: the inner shell expands them.
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child bash -c '
    set -e
    root=$1; shift
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    exec chroot "$root" "$@"' inside "$root" env -i "${settings[@]}" bash -c 'cd /spansort && exec "$@"' bash "$@"
}

# try_verb <suite> <verb>: appends its outcome to `outcome`.
try_verb() {
  local log=$logs/$1-$2.log begin=$SECONDS status=0 command=(./dev "$2")
  if [[ $2 == packages ]]; then command=(scripts/try_packages.sh build/packages); fi
  say "$1: ${command[*]} (log: $log)"
  inside "$1" "${command[@]}" >"$log" 2>&1 </dev/null || status=$?
  if ((status == 0)); then
    outcome+=", $2 passed in $((SECONDS - begin)) s"
    if [[ $2 == test ]]; then outcome+=" ($(tail -n 1 "$log"))"; fi
    if [[ $2 == packages ]]; then grep '^==' "$log"; fi
  else
    outcome+=", $2 FAILED with status $status after $((SECONDS - begin)) s"
    num_failed=$((num_failed + 1))
    tail -n 25 "$log"
  fi
}

# try_root <suite>: sets `outcome`.
try_root() {
  local origin=Debian mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg components=main reason verb begin=$SECONDS
  mirror=$(mirror_of Debian)
  if [[ $1 == noble ]]; then
    origin=Ubuntu components=main,universe keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg
    mirror=$(mirror_of Ubuntu)
  fi
  reason=$(why_not "$1" "$mirror" "$keyring")
  if [[ -n $reason ]]; then
    outcome="skipped, for $reason"
    return
  fi
  say "$1: a bare root of $origin in $work/$1"
  if ! make_root "$1" "$mirror" "$keyring" "$components"; then
    outcome="no root could be made: FAILED"
    num_failed=$((num_failed + 1))
    return
  fi
  outcome="made in $((SECONDS - begin)) s"
  for verb in "${verbs[@]}"; do try_verb "$1" "$verb"; done
  if ((!keep)); then rm -rf --one-file-system "${work:?}/$1"; fi
}

# ---- all of them

verbs=(demo test)
roots=()
keep=0
for argument in "$@"; do
  case $argument in
    --demo-only) verbs=(demo) ;;
    --packages) verbs=(packages) ;;
    --keep) keep=1 ;;
    -h | --help) usage; exit 0 ;;
    bookworm | trixie | noble) roots+=("$argument") ;;
    *) usage >&2; fail "unknown argument '$argument'" ;;
  esac
done
((${#roots[@]} > 0)) || roots=(bookworm trixie noble)
((EUID == 0)) || fail "root's rights are needed, to mount and to change the root"
command -v mmdebstrap >/dev/null || fail "mmdebstrap is missing: apt-get install mmdebstrap"

commit=$(git rev-parse HEAD)
[[ -z $(git status --porcelain --untracked-files=no) ]] || say "what is not committed is left out: commit ${commit:0:12} is tried"
logs=$PWD/build/fresh_roots
mkdir -p "$logs"
work=$(mktemp -d "${SPANSORT_ROOTS:-${TMPDIR:-/tmp}}/spansort-roots.XXXXXX")
((keep)) || trap 'rm -rf --one-file-system "$work"' EXIT
write_apt_settings "$work/apt.conf"

num_failed=0
lines=()
for root in "${roots[@]}"; do
  outcome=''
  try_root "$root"
  lines+=("$root: $outcome")
done
say "commit ${commit:0:12}"
printf '%s\n' "${lines[@]}"
((num_failed == 0))
