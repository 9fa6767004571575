/*
 * A body of a header that nothing closes ends with the program.
 * @flags: -C
 */
#include "c/unclosed.h"
BEGIN { exit(0); }
