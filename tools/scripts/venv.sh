# The Python packages of the tests, each in a venv of its own below build/ (nothing outside it); sourced.
# venv_with TITLE FOLDER CHECK PIP-ARGUMENT...: 0 when FOLDER/venv passes CHECK (Python); 1, with the reason on
# stderr, when it cannot be had. Never required.
venv_with() {
  local title=$1 folder=$2 check=$3
  shift 3
  local venv=$folder/venv log=$folder/setup.log python=/usr/bin/python3
  [ -x "$venv/bin/python" ] && "$venv/bin/python" -c "$check" 2>/dev/null && return 0
  [ -x "$python" ] || python=$(command -v python3) || {
    echo "$title not installed: no python3" >&2
    return 1
  }
  mkdir -p "$folder"
  if ! "$python" -m venv --clear "$venv" >"$log" 2>&1; then
    echo "$title not installed: python3 -m venv failed (apt: python3-venv); see $log" >&2
    return 1
  fi
  if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >>"$log" 2>&1 ||
    ! "$venv/bin/python" -c "$check" >>"$log" 2>&1; then
    echo "$title not installed: pip could not fetch it (offline?); see $log" >&2
    return 1
  fi
  echo "$title installed in ${folder#"$root"/}"
}
