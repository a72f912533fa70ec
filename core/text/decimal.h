/* The digits of a double that read back as it, found without the C library
 * where that takes one product. Private to the core. */
#ifndef LLMPROF_CORE_DECIMAL_H
#define LLMPROF_CORE_DECIMAL_H

enum {
  LLMPROF_DECIMAL_SIZE = 32 /* bytes of any number below, without a NUL */
};

/* Write a number as printf's %.15g, %.16g or %.17g does, the first that reads
 * back as the same double, with ".0" behind what would be an integer; returns
 * the end. NULL, with nothing written, where that takes an exponent or more
 * bits than there are. */
char *llmprof_decimal_put(char *at, double number);

#endif
