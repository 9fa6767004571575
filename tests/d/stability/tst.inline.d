/*
 * An inline without attributes is as stable as what it names.
 * @flags: -e -v
 * @stderr
 */
inline int port = htons(80);
BEGIN { trace(port); }
