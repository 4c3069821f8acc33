#include "tools/wick/command.h"

int main(int argc, char** argv) { return wick::tool::run_wick(argc, argv); }
