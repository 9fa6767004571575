/*
 * The message about an error in a header names the header and the line.
 * @flags: -C
 */
#include "bad.h"
BEGIN { exit(0); }
