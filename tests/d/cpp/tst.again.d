/*
 * Two headers may declare the same type if both declarations are identical.
 * @flags: -qC
 */
#include "c/again.h"
#include "c/again.h"
again_t it;
BEGIN { printf("%d %d\n", sizeof (struct twice), TWICE); exit(0); }
