/*
 * quiet omits the header, the rows and the message.
 * @flags: -x quiet
 * @stderr
 */
BEGIN { trace(1); exit(0); }
