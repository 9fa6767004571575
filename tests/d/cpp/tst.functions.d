/*
 * The bodies of functions in a header are ignored, for every form of inline function.
 * @flags: -qC
 */
#include "c/functions.h"
BEGIN { printf("%d\n", sizeof (struct behind)); exit(0); }
