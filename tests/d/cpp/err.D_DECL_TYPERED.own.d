/*
 * The script itself may not say anew what is predefined.
 * @flags: -C
 */
struct timespec { char seconds; };
BEGIN { exit(0); }
