/*
 * D knows the sizes of GCC's 128-bit, vector and complex types, but cannot calculate with them.
 * @flags: -qC
 */
#include "c/wide_types.h"
#define SHOW(type, member) printf("%s %d %d, %s at %d\n", #type, sizeof (type), _Alignof (type), #member, offsetof(type, member))
BEGIN
{
	printf("%d %d %d %d\n", sizeof (wide_t), sizeof (u_wide_t), sizeof (s_wide_t), sizeof (quad_t));
	printf("%d %d %d %d\n", sizeof (word_t), sizeof (u_byte_t), sizeof (half_double_t), sizeof (vector_t));
	SHOW(struct wide, b);
	SHOW(struct wide, d);
	SHOW(struct vectors, b);
	SHOW(struct vectors, c);
	SHOW(struct complexes, b);
	SHOW(struct complexes, d);
	SHOW(struct floats, d);
	exit(0);
}
