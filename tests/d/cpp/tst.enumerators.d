/*
 * Enumerators in a header may be larger than an int, as C compilers allow.
 * @flags: -qC
 */
#include "large.h"
struct holder h;
BEGIN
{
	h.value = HIGH;
	printf("%s\n", h.value == HIGH ? "same" : "different");
	print(h);
	exit(0);
}
