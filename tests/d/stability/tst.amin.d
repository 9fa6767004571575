/*
 * A program runs if it has the stability that -x amin requires.
 * @flags: -q -x amin=evolving/EVOLVING/Common
 */
BEGIN { printf("%x\n", htons(1)); exit(0); }
