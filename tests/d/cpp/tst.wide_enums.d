/*
 * A header's enum is as wide as its values or its attributes require.
 * @flags: -qC
 */
#include "c/wide_enums.h"
BEGIN
{
	printf("%d %d %d %d %d %d %d %d\n", sizeof (enum wide), sizeof (enum top), sizeof (enum negative),
	    sizeof (enum flags), sizeof (enum context), sizeof (enum next), sizeof (enum byte), sizeof (enum half));
	printf("%x %x %d %x %d %d %d\n", WIDE_HIGH, TOP, LEAST, MOST, FIRST, ALL, HV);
	printf("%d %d %d\n", ABOVE, BYTE, selves);
	exit(0);
}
