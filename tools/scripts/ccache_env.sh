# Sourced by what builds: copies of the tree share what they compiled, and a home that cannot be written, or is not there,
# stops nothing (ccache would stop every compiler call).
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD}
# By the headers' bytes, not by what the preprocessor leaves of them: GCC compares a precompiled header's files with those on
# disk, so one that differs in a comment alone must not be served (its headers would be included twice).
export CCACHE_DEPEND=1
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros} # or it does not look into precompiled headers
if command -v ccache >/dev/null; then
  folder=$(ccache -k cache_dir 2>/dev/null) || folder=
  { [ -n "$folder" ] && mkdir -p "$folder/tmp" 2>/dev/null && [ -w "$folder/tmp" ]; } || export CCACHE_DIR=$PWD/build/ccache
fi
