/*
 * An unfinished declaration in a header does not swallow the clause after it.
 * @flags: -C -Ic
 */
#include "unfinished.h"
BEGIN { exit(0); }
