/*
 * Enumerators of a header may be larger than an int, as compilers of C have them.
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
