/*
 * Constant expressions in a header have the width and the sign that C gives them.
 * @flags: -qC
 */
#include "c/constants.h"
struct constants s;
BEGIN
{
	printf("%d %d %d %d ", sizeof (s.a), sizeof (s.b), sizeof (s.c), sizeof (s.d));
	printf("%d %d %d %d\n", sizeof (s.e), sizeof (s.f), sizeof (s.g), sizeof (s.h));
	exit(0);
}
