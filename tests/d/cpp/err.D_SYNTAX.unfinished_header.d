/*
 * What a header leaves unfinished does not swallow the clause behind it.
 * @flags: -C -Ic
 */
#include "unfinished.h"
BEGIN { exit(0); }
