/*
 * An error in a header that another header includes is reported with its own line, also after bodies.
 * @flags: -C
 */
#include "c/outer.h"
BEGIN { exit(0); }
