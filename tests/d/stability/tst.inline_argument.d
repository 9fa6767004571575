/*
 * The attributes of an inline do not replace the attributes of its arguments.
 * @flags: -e -v
 * @stderr
 */
#pragma D attributes Stable/Stable/Common next
inline int next[int n] = n + 1;
BEGIN { trace(next[htons(80)]); }
