// 1: code and structures for machines of little memory (WICK_SMALL of the build).
#pragma once

#ifndef WICK_SMALL
#define WICK_SMALL 0
#endif
