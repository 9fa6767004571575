/*
 * A declaration that a header leaves unfinished is a syntax error.
 * @flags: -C -Ic
 */
#include "unfinished.h"
BEGIN { exit(0); }
