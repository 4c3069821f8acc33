// The only source of the programs that own precompiled headers (wick_test_headers in
// cmake/WickTest.cmake). main() is GoogleTest's.
