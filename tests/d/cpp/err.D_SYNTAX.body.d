/*
 * A function body in a header that is never closed ends with the program.
 * @flags: -C
 */
#include "c/unclosed.h"
BEGIN { exit(0); }
