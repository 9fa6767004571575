/*
 * An error in a header names the header and its line.
 * @flags: -C
 */
#include "bad.h"
BEGIN { exit(0); }
