/*
 * Attributes and #pragma pack in a header determine sizes and offsets.
 * @flags: -qC
 */
#include "c/attributes.h"
#define SHOW(type, member) printf("%s %d %d, %s at %d\n", #type, sizeof (type), _Alignof (type), #member, offsetof(type, member))
BEGIN
{
	SHOW(struct before, c);
	SHOW(struct behind, b);
	SHOW(struct one_member, c);
	SHOW(struct first_word, c);
	SHOW(struct aligned, a);
	SHOW(struct by_default, a);
	SHOW(struct member_aligned, c);
	SHOW(struct both, b);
	SHOW(struct bits, a);
	SHOW(struct packed_bits, a);
	SHOW(struct holder, d);
	SHOW(tight_t, b);
	SHOW(struct typedefs, c);
	SHOW(struct typedefs, d);
	SHOW(struct typedefs, e);
	SHOW(union packed_union, b);
	SHOW(union aligned_union, a);
	SHOW(struct pack_1, b);
	SHOW(struct pack_2, c);
	SHOW(struct pack_4, c);
	SHOW(struct pack_2_again, b);
	SHOW(struct pack_none, b);
	exit(0);
}
