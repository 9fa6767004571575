/*
 * The attributes of an inline replace the attributes of the names in it.
 * @flags: -e -v
 * @stderr
 */
#pragma D attributes Stable/Stable/Common port
inline int port = htons(80);
BEGIN { trace(port); }
