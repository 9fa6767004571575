/*
 * A program that is as stable as -x amin requires runs.
 * @flags: -q -x amin=evolving/EVOLVING/Common
 */
BEGIN { printf("%x\n", htons(1)); exit(0); }
