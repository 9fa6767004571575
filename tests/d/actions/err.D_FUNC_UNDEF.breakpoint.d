/*
 * breakpoint needs the kernel module.
 * @flags: -w
 */
BEGIN { breakpoint(); }
