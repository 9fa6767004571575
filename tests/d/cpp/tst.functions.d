/*
 * Functions of a header have bodies, which nobody reads, in all ways of being inline.
 * @flags: -qC
 */
#include "c/functions.h"
BEGIN { printf("%d\n", sizeof (struct behind)); exit(0); }
