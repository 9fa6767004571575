/*
 * An error in a header that a header includes is told with the line of its own, also behind bodies.
 * @flags: -C
 */
#include "c/outer.h"
BEGIN { exit(0); }
