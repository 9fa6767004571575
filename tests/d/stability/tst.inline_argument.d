/*
 * The attributes of an inline do not replace those of its arguments.
 * @flags: -e -v
 * @stderr
 */
#pragma D attributes Stable/Stable/Common next
inline int next[int n] = n + 1;
BEGIN { trace(next[htons(80)]); }
