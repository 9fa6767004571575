/*
 * A parameter in a header may be a variable-length array, or have a D keyword as its name.
 * @flags: -qC
 */
#include "c/parameters.h"
BEGIN { printf("%d\n", sizeof (struct after)); exit(0); }
