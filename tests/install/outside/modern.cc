// Compiles wick/runtime.h with warnings that are errors.
#include "wick/runtime.h"

int main() { return wick::Program::load("no such file").ok() ? 1 : 0; }
