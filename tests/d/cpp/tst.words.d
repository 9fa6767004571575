/*
 * Headers may contain keywords of C11 and GCC that D does not have.
 * @flags: -qC
 */
#include "c/words.h"
#define SHOW(type, member) printf("%s %d %d, %s at %d\n", #type, sizeof (type), _Alignof (type), #member, offsetof(type, member))
BEGIN
{
	SHOW(struct said, b);
	SHOW(struct said, c);
	SHOW(struct atomics, d);
	SHOW(struct extended, c);
	SHOW(struct same, b);
	SHOW(struct same, c);
	SHOW(struct signs, c);
	SHOW(struct attributed, b);
	SHOW(struct sized, b);
	SHOW(struct sized, c);
	SHOW(struct tagged, inner);
	exit(0);
}
