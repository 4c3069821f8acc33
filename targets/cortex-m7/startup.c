/* From reset to main(): the vector table, the floating-point unit, data and zeroed memory, semihosting's streams. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern char __stack[], __data_from[], __data_begin[], __data_end[], __bss_begin[], __bss_end[];
extern void initialise_monitor_handles(void);
extern void __libc_init_array(void);
extern int main(int argc, char** argv);

void reset(void);
static void fault(void) {
  for (;;) abort();
}

__attribute__((section(".vectors"), used)) static const void* const kVectors[16] = {
    __stack, (const void*)reset, (const void*)fault, (const void*)fault, (const void*)fault, (const void*)fault,
    (const void*)fault};

/* What crtn.o has, which -nostartfiles leaves out. */
void _init(void) {}
void _fini(void) {}

void reset(void) {
  static char name[] = "program";
  static char* words[] = {name, NULL};
  volatile uint32_t* const access = (volatile uint32_t*)0xE000ED88; /* CPACR */
  *access |= 0xFu << 20;
  __asm__ volatile("dsb\n\tisb");
  memcpy(__data_begin, __data_from, (size_t)(__data_end - __data_begin));
  memset(__bss_begin, 0, (size_t)(__bss_end - __bss_begin));
  initialise_monitor_handles();
  __libc_init_array();
  exit(main(1, words));
}
