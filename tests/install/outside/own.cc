// A source of the project that has nothing to do with Wick.
static_assert(__cplusplus == 201703L, "a guest changed the language of the house");
#ifndef __FAST_MATH__
#error "a guest changed the arithmetic of the house"
#endif

int main() { return 0; }
