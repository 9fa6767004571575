/*
 * chill needs a kernel.
 * @flags: -w
 */
BEGIN { chill(1); }
