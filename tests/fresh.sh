#!/usr/bin/env bash
# Clone HEAD into a temporary folder and run make there, once for each given target, with an empty
# environment, an empty home and no browser. Print the time of each. Fail if a target fails or
# changes what git tracks.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/home" "$place/bin"
git clone --quiet . "$place/clone"

ln -s /usr/bin/* /bin/* "$place/bin" 2>/dev/null || true  # names in both are linked once
ln -sf "$(python3 -c 'import sys; print(sys._base_executable)')" "$place/bin/python3"
rm -f "$place"/bin/chrom* "$place"/bin/google-chrome*

# What pip needs to reach the package index, and nothing else.
pip_needs='^(PIP_\w+|(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE)='
mapfile -t settings < <(env | grep -iE "$pip_needs")
for file in "${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf" "$HOME/.pip/pip.conf"; do
  if [ -z "${PIP_CONFIG_FILE:-}" ] && [ -f "$file" ]; then settings+=("PIP_CONFIG_FILE=$file"); fi
done

times=() failed=0
for target in "$@"; do
  SECONDS=0
  env -i "HOME=$place/home" "PATH=$place/bin" "${settings[@]}" make -C "$place/clone" "$target" ||
    { echo "make $target: failed"; failed=1; }
  times+=("make $target: $SECONDS s")
  changed=$(git -C "$place/clone" status --porcelain)
  if [ -n "$changed" ]; then
    printf 'make %s: left the clone changed (git status):\n%s\n' "$target" "$changed"
    failed=1
  fi
done
printf '%s\n' "${times[@]}"
exit $failed
