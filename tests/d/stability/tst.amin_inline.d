/*
 * -x amin takes an inline by the attributes that it has.
 * @flags: -q -x amin=Stable/Stable/Common
 */
#pragma D attributes Stable/Stable/Common one
inline int one = htons(256);
BEGIN { printf("%d\n", one); exit(0); }
