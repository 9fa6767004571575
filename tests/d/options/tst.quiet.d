/*
 * quiet omits the header, the rows and the message about matched probes.
 * @flags: -x quiet
 * @stderr
 */
BEGIN { trace(1); exit(0); }
