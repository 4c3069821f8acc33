/* Start-up code from reset to main(): the vector table, the floating-point unit, data and zeroed
 * memory; a heap, and semihosting, by which the program prints and exits. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern char __stack[], __stack_begin[], __data_from[], __data_begin[], __data_end[], __bss_begin[],
    __bss_end[], end[];
extern void __libc_init_array(void);
extern int main(int argc, char** argv);

static long semihosting(long operation, const void* argument) {
  register long r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void wick_put(const char* text) { semihosting(0x04 /* SYS_WRITE0 */, text); }

__attribute__((noreturn)) void _exit(int code) {
  const long why[2] = {0x20026 /* ADP_Stopped_ApplicationExit */, code};
  for (;;) semihosting(0x20 /* SYS_EXIT_EXTENDED */, why);
}
void abort(void) { _exit(134); }

/* printf() ends here. */
int _write(int file, const char* bytes, int count) {
  int i;
  (void)file;
  for (i = 0; i < count; ++i) semihosting(0x03 /* SYS_WRITEC */, bytes + i);
  return count;
}

/* The heap grows towards the stack. */
static char* heap_end = end;
void* _sbrk(ptrdiff_t bytes) {
  char* const from = heap_end;
  if (bytes > __stack_begin - heap_end) {
    errno = ENOMEM;
    return (void*)-1;
  }
  heap_end += bytes;
  return from;
}

/* Returns the most that data, heap and stack took until now: the stack was painted, and newlib's
 * heap never shrinks here. */
#define WICK_PAINT 0xA5u
unsigned long wick_ram(void) {
  const char* used = __stack_begin;
  while (used < __stack && *used == (char)WICK_PAINT) ++used;
  return (unsigned long)(heap_end - __data_begin) + (unsigned long)(__stack - used);
}

void reset(void);
static void fault(void) { abort(); }

__attribute__((section(".vectors"), used)) static const void* const kVectors[16] = {
    __stack,
    (const void*)reset,
    (const void*)fault,
    (const void*)fault,
    (const void*)fault,
    (const void*)fault,
    (const void*)fault};

/* crtn.o has these, but -nostartfiles leaves it out. */
void _init(void) {}
void _fini(void) {}

void reset(void) {
  static char name[] = "program";
  static char* words[] = {name, NULL};
  volatile uint32_t* const access = (volatile uint32_t*)0xE000ED88; /* CPACR */
  char* at;
  *access |= 0xFu << 20;
  __asm__ volatile("dsb\n\tisb");
  memcpy(__data_begin, __data_from, (size_t)(__data_end - __data_begin));
  memset(__bss_begin, 0, (size_t)(__bss_end - __bss_begin));
  /* Paint the stack as far as this function's own frame. */
  for (at = __stack_begin; at < (char*)__builtin_frame_address(0) - 256; ++at)
    *at = (char)WICK_PAINT;
  __libc_init_array();
  _exit(main(1, words));
}
