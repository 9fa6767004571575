/*
 * A type in a header may have the name of a predefined type, and then replaces it.
 * @flags: -qC
 */
#include "timespec.h"
BEGIN { printf("%d\n", sizeof (struct timespec)); exit(0); }
