/*
 * chill needs the kernel module.
 * @flags: -w
 */
BEGIN { chill(1); }
