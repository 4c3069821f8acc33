# Sourced by what builds: copies of the tree share what they compiled, and a home that cannot be written, or is not there,
# stops nothing (ccache would stop every compiler call).
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD}
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros} # or it does not look into precompiled headers
if command -v ccache >/dev/null; then
  folder=$(ccache -k cache_dir 2>/dev/null) || folder=
  { [ -n "$folder" ] && mkdir -p "$folder/tmp" 2>/dev/null && [ -w "$folder/tmp" ]; } || export CCACHE_DIR=$PWD/build/ccache
fi
