/*
 * panic needs the kernel module.
 * @flags: -w
 */
BEGIN { panic(); }
