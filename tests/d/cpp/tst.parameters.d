/*
 * A header's functions may have arrays of a length that another parameter says, and D's own words as names.
 * @flags: -qC
 */
#include "c/parameters.h"
BEGIN { printf("%d\n", sizeof (struct after)); exit(0); }
