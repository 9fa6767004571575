/*
 * With -C, #include provides the macros and types of a header next to the script.
 * @flags: -qC
 */
#include "shapes.h"
#include "shapes.h"
shape_t square;

BEGIN
{
	square.corner[CORNERS - 1].y = 7;
	printf("%d corners, the last at %d, %d bytes\n", CORNERS, square.corner[3].y, sizeof (shape_t));
	exit(0);
}
