/*
 * A name that no clause uses may be less stable than -x amin.
 * @flags: -q -x amin=Stable/Stable/Common
 */
#pragma D attributes Private/Private/Unknown x
int x;
inline int one = htons(256);
BEGIN { printf("fine\n"); exit(0); }
