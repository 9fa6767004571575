/*
 * An error in a nested header is reported with its line in that header, even after function bodies.
 * @flags: -C
 */
#include "c/outer.h"
BEGIN { exit(0); }
