/*
 * The attributes of an inline stand for what it names.
 * @flags: -e -v
 * @stderr
 */
#pragma D attributes Stable/Stable/Common port
inline int port = htons(80);
BEGIN { trace(port); }
