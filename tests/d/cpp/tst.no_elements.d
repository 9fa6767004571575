/*
 * Structs and unions in a header may contain arrays without elements and empty structs.
 * @flags: -qC
 */
#include "c/no_elements.h"
BEGIN
{
	printf("%d %d %d %d\n", sizeof (struct zero), sizeof (struct flexible), sizeof (union both),
	    sizeof (struct in_union));
	printf("%d %d\n", offsetof(struct zero, data), offsetof(struct flexible, data));
	printf("%d %d\n", offsetof(struct in_union, a), offsetof(struct in_union, b));
	exit(0);
}
