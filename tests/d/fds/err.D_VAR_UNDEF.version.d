/*
 * fds[] does not exist before version 1.1.
 * @flags: -x version=1.0
 */
BEGIN { trace(fds[0].fi_name); }
