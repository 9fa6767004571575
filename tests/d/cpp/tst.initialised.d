/*
 * Variables in a C header may be initialised, but they do not become D variables.
 * @flags: -qC
 */
#include "c/initialised.h"
struct address mine;
BEGIN { mine.u.words[3] = 1; three = "mine"; printf("%d %s\n", sizeof (mine), three); exit(0); }
