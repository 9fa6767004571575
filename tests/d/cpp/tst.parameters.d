/*
 * A parameter in a header may be an array with a variable length, or have a D keyword as its name.
 * @flags: -qC
 */
#include "c/parameters.h"
BEGIN { printf("%d\n", sizeof (struct after)); exit(0); }
