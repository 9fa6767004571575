/*
 * An enumerator cannot have different values in two headers.
 * @flags: -C
 */
#include "c/again.h"
#include "c/otherwise.h"
BEGIN { exit(0); }
