/*
 * panic needs a kernel.
 * @flags: -w
 */
BEGIN { panic(); }
