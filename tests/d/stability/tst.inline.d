/*
 * An inline without attributes is as stable as the least stable name in it.
 * @flags: -e -v
 * @stderr
 */
inline int port = htons(80);
BEGIN { trace(port); }
