/*
 * The options cpp, define, undef and incdir have the same effects as -C, -D, -U and -I. cppargs passes other flags.
 * @flags: -q -x cpp -x define=A=1 -x define=B=2 -x undef=B -x incdir=include -x cppargs=-DC=3
 */
#include <other.h>
BEGIN
{
#ifndef B
	printf("%d %d %d\n", A, C, OTHER);
#endif
	exit(0);
}
