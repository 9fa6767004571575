/*
 * Headers may declare the same type again when both times it is the same.
 * @flags: -qC
 */
#include "c/again.h"
#include "c/again.h"
again_t it;
BEGIN { printf("%d %d\n", sizeof (struct twice), TWICE); exit(0); }
