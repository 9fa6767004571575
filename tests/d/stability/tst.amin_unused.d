/*
 * What no clause uses may be below -x amin.
 * @flags: -q -x amin=Stable/Stable/Common
 */
#pragma D attributes Private/Private/Unknown x
int x;
inline int one = htons(256);
BEGIN { printf("fine\n"); exit(0); }
