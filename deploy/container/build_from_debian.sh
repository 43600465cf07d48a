#!/usr/bin/env bash
# Builds the image without an engine and without a registry of images: a Debian root from Debian's packages, Taskyard from
# this repository, committed by buildah. Needs root, and mmdebstrap and buildah from Debian.
#
#   deploy/container/build_from_debian.sh IMAGE            the image, in buildah's storage
#   deploy/container/build_from_debian.sh --root FOLDER    only the file system, to be run by another means
set -euo pipefail
cd "$(dirname "$0")/../.."

what=${1:?usage: build_from_debian.sh IMAGE | --root FOLDER}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

uv=.tools/bin/uv
[ -x "$uv" ] || make setup
"$uv" build --wheel --no-config --out-dir "$work/dist" --quiet
"$uv" export --frozen --no-dev --no-emit-project --no-config --format requirements-txt --quiet --output-file "$work/requirements.txt" \
  --extra server --extra client --extra postgres --extra redis --extra artifacts --extra notifications \
  --extra prices --extra watch --extra mcp --extra a2a --extra gateway --extra oidc --extra memory --extra tui

# Debian's own Python, which is the oldest that Taskyard supports, and nothing else that a process needs not.
root="$work/root"
mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,ca-certificates,tzdata bookworm "$root"
python3.11 -c '' 2>/dev/null || { echo "the packages are chosen for Python 3.11, which this machine has not" >&2; exit 1; }
mkdir -p "$root/opt/taskyard"
"$uv" pip install --quiet --no-config --python-version 3.11 --target "$root/opt/taskyard/lib" --link-mode copy \
  --require-hashes -r "$work/requirements.txt"
"$uv" pip install --quiet --no-config --python-version 3.11 --target "$root/opt/taskyard/lib" --link-mode copy --no-deps "$work"/dist/*.whl
mkdir -p "$root/opt/taskyard/bin"
cat >"$root/opt/taskyard/bin/taskyard" <<'SH'
#!/bin/sh
PYTHONPATH=/opt/taskyard/lib exec python3 -m taskyard "$@"
SH
chmod 0755 "$root/opt/taskyard/bin/taskyard"
install -d -o 10001 -g 10001 -m 0700 "$root/data"
echo 'taskyard:x:10001:10001::/data:/usr/sbin/nologin' >>"$root/etc/passwd"
echo 'taskyard:x:10001:' >>"$root/etc/group"
# Compiled here: the file system may be read-only, and every start would compile everything again.
python3.11 -m compileall -q -j 2 -s "$root" "$root/opt/taskyard/lib" "$root/usr/lib/python3.11" 
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/*

if [ "$what" = --root ]; then
  folder=${2:?usage: build_from_debian.sh --root FOLDER}
  mkdir -p "$folder"
  cp -a "$root/." "$folder/"
  exit
fi

export BUILDAH_FORMAT=docker # the other format knows no health check
container=$(buildah from scratch)
buildah add --quiet "$container" "$root" /
buildah config \
  --env PATH=/opt/taskyard/bin:/usr/local/bin:/usr/bin:/bin --env PYTHONDONTWRITEBYTECODE=1 --env PYTHONUNBUFFERED=1 \
  --env TASKYARD_URL=sqlite:////data/taskyard.db --env TASKYARD_ARTIFACTS=file:///data/artifacts \
  --user 10001:10001 --workingdir /data --volume /data --port 8420 --stop-signal SIGTERM \
  --healthcheck 'CMD python3 -c "import urllib.request as r; r.urlopen(\"http://127.0.0.1:8420/readyz\", timeout=2)"' \
  --entrypoint '["taskyard"]' --cmd 'serve --host 0.0.0.0 --log-format json' "$container"
buildah commit --quiet "$container" "$what"
buildah rm "$container" >/dev/null
