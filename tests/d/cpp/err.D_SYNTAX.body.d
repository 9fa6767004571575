/*
 * A function body that a header does not close extends to the end of the program.
 * @flags: -C
 */
#include "c/unclosed.h"
BEGIN { exit(0); }
