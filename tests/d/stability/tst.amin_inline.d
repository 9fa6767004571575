/*
 * -x amin checks an inline's own attributes instead of the attributes of the names in it.
 * @flags: -q -x amin=Stable/Stable/Common
 */
#pragma D attributes Stable/Stable/Common one
inline int one = htons(256);
BEGIN { printf("%d\n", one); exit(0); }
