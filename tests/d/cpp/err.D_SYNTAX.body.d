/*
 * If a function body in a header is never closed, it extends to the end of the program.
 * @flags: -C
 */
#include "c/unclosed.h"
BEGIN { exit(0); }
