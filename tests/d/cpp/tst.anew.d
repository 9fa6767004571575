/*
 * A type of a header may have the name of one that D has predefined, and is then meant.
 * @flags: -qC
 */
#include "timespec.h"
BEGIN { printf("%d\n", sizeof (struct timespec)); exit(0); }
