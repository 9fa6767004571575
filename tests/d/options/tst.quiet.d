/*
 * quiet omits the header, the columns for CPU, ID and probe, and the message about matched probes.
 * @flags: -x quiet
 * @stderr
 */
BEGIN { trace(1); exit(0); }
