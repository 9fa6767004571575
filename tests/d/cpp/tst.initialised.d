/*
 * Variables in a header may be initialised; they do not become variables of D.
 * @flags: -qC
 */
#include "c/initialised.h"
struct address mine;
BEGIN { mine.u.words[3] = 1; three = "mine"; printf("%d %s\n", sizeof (mine), three); exit(0); }
