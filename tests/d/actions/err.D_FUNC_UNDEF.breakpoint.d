/*
 * breakpoint needs a kernel.
 * @flags: -w
 */
BEGIN { breakpoint(); }
